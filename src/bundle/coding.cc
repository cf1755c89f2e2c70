#include "bundle/coding.h"

namespace gyre {
namespace {

constexpr int kMaxVarintBytes = 10;

template <typename T>
T LoadFixed(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

template <typename T>
void PutFixed(T value, std::string& out) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

bool TakeVarint(absl::string_view& bytes, uint64_t& value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes.size() && i < kMaxVarintBytes; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = result;
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void PutVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

uint32_t LoadFixed32(const char* bytes) { return LoadFixed<uint32_t>(bytes); }
uint64_t LoadFixed64(const char* bytes) { return LoadFixed<uint64_t>(bytes); }
void PutFixed32(uint32_t value, std::string& out) { PutFixed(value, out); }
void PutFixed64(uint64_t value, std::string& out) { PutFixed(value, out); }

}  // namespace gyre
