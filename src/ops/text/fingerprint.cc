#include "ops/text/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace gyre {
namespace {

uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

uint32_t Load32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

namespace farm {

// Primes between 2^63 and 2^64.
constexpr uint64_t kA = 0xc3a5c85c97cb3127, kB = 0xb492b66fbe98f273, kC = 0x9ae16a3b2f90404f;

uint64_t Rotate(uint64_t x, int by) { return std::rotr(x, by); }
uint64_t Shift(uint64_t x) { return x ^ (x >> 47); }

uint64_t Mix(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Shift((u ^ v) * factor);
  return Shift((v ^ a) * factor) * factor;
}

uint64_t OfUpTo16(const char* s, size_t n) {
  if (n >= 8) {
    const uint64_t factor = kC + n * 2;
    const uint64_t first = Load64(s) + kC;
    const uint64_t last = Load64(s + n - 8);
    return Mix(Rotate(last, 37) * factor + first, (Rotate(first, 25) + last) * factor, factor);
  }
  if (n >= 4) {
    return Mix(n + (uint64_t{Load32(s)} << 3), Load32(s + n - 4), kC + n * 2);
  }
  if (n == 0) return kC;
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  const uint32_t y = byte(0) + (byte(n >> 1) << 8);
  const uint32_t z = static_cast<uint32_t>(n) + (byte(n - 1) << 2);
  return Shift((y * kC) ^ (z * kA)) * kC;
}

uint64_t OfUpTo32(const char* s, size_t n) {
  const uint64_t factor = kC + n * 2;
  const uint64_t a = Load64(s) * kB, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * factor, d = Load64(s + n - 16) * kC;
  return Mix(Rotate(a + b, 43) + Rotate(c, 30) + d, a + Rotate(b + kC, 18) + c, factor);
}

uint64_t OfUpTo64(const char* s, size_t n) {
  const uint64_t factor = kC + n * 2;
  const uint64_t a = Load64(s) * kC, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * factor, d = Load64(s + n - 16) * kC;
  const uint64_t y = Rotate(a + b, 43) + Rotate(c, 30) + d;
  const uint64_t z = Mix(y, a + Rotate(b + kC, 18) + c, factor);
  const uint64_t e = Load64(s + 16) * factor, f = Load64(s + 24);
  const uint64_t g = (y + Load64(s + n - 32)) * factor, h = (z + Load64(s + n - 24)) * factor;
  return Mix(Rotate(e + f, 43) + Rotate(g, 30) + h, e + Rotate(f + a, 18) + g, factor);
}

struct Pair {
  uint64_t first = 0, second = 0;
};

// Of 32 bytes, with two seeds.
Pair Weak(const char* s, uint64_t a, uint64_t b) {
  a += Load64(s);
  const uint64_t last = Load64(s + 24);
  b = Rotate(b + a + last, 21);
  const uint64_t start = a;
  a += Load64(s + 8) + Load64(s + 16);
  return {a + last, b + Rotate(a, 44) + start};
}

struct State {
  uint64_t x, y, z;
  Pair v, w;

  // Takes 64 bytes; the factors are others for the last ones.
  void Take(const char* s, uint64_t factor, uint64_t weight) {
    x = Rotate(x + y + v.first + Load64(s + 8), 37) * factor;
    y = Rotate(y + v.second + Load64(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Load64(s + 40);
    z = Rotate(z + w.first, 33) * factor;
    v = Weak(s, v.second * factor, x + w.first);
    w = Weak(s + 32, z + w.second, y + Load64(s + 16));
    std::swap(z, x);
  }
};

}  // namespace farm
}  // namespace

uint64_t FarmFingerprint64(absl::string_view bytes) {
  using namespace farm;
  const char* s = bytes.data();
  const size_t n = bytes.size();
  if (n <= 16) return OfUpTo16(s, n);
  if (n <= 32) return OfUpTo32(s, n);
  if (n <= 64) return OfUpTo64(s, n);
  constexpr uint64_t kSeed = 81;
  State state{kSeed * kC + Load64(s), kSeed * kB + 113, 0, {}, {}};
  state.z = Shift(state.y * kC + 113) * kC;
  const char* const last = s + (n - 1) / 64 * 64;
  for (; s != last; s += 64) state.Take(s, kB, 1);
  const uint64_t factor = kB + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Take(bytes.data() + n - 64, factor, 9);
  return Mix(Mix(state.v.first, state.w.first, factor) + Shift(state.y) * kA + state.z,
             Mix(state.v.second, state.w.second, factor) + state.x, factor);
}

uint64_t SipHash24(uint64_t key0, uint64_t key1, absl::string_view bytes) {
  uint64_t a = key0 ^ 0x736f6d6570736575, b = key1 ^ 0x646f72616e646f6d;
  uint64_t c = key0 ^ 0x6c7967656e657261, d = key1 ^ 0x7465646279746573;
  const auto round = [&] {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b;
    a += d;
    b = std::rotl(b, 17) ^ c;
    d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  };
  const auto take = [&](uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  };
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) take(Load64(bytes.data() + at));
  uint64_t rest = uint64_t{bytes.size() & 0xff} << 56;
  for (size_t i = 0; at + i < bytes.size(); ++i)
    rest |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  take(rest);
  c ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return a ^ b ^ c ^ d;
}

uint64_t SeededMurmur64(absl::string_view bytes) {
  constexpr uint64_t kSeed = 0xdecafcaffe, kFactor = 0xc6a4a7935bd1e995;
  uint64_t h = kSeed ^ (bytes.size() * kFactor);
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t k = Load64(bytes.data() + at) * kFactor;
    k = (k ^ (k >> 47)) * kFactor;
    h = (h ^ k) * kFactor;
  }
  if (at < bytes.size()) {
    uint64_t rest = 0;
    for (size_t i = 0; at + i < bytes.size(); ++i)
      rest |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
    h = (h ^ rest) * kFactor;
  }
  h = (h ^ (h >> 47)) * kFactor;
  return h ^ (h >> 47);
}

}  // namespace gyre
