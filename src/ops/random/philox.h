// Philox 4x32-10, a counter-based random number generator: the n-th block of four numbers is a
// function of (key, n) alone, so that any part of a stream can be computed by itself.
//
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A value type;
// not thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace gyre {

class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  // The counter's upper half tells streams of one key apart.
  Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), low_(counter_low), high_(counter_high) {}

  // The block at the counter.
  Block Current() const {
    uint32_t k0 = static_cast<uint32_t>(key_);
    uint32_t k1 = static_cast<uint32_t>(key_ >> 32);
    Block c = {static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32),
               static_cast<uint32_t>(high_), static_cast<uint32_t>(high_ >> 32)};
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

  // The block at the counter, which moves on by one.
  Block Next() {
    const Block block = Current();
    Skip(1);
    return block;
  }

  void Skip(uint64_t blocks) {
    low_ += blocks;
    if (low_ < blocks) ++high_;
  }

 private:
  uint64_t key_;
  uint64_t low_;
  uint64_t high_;
};

}  // namespace gyre
