#include "bundle/wire.h"

#include "absl/status/status.h"

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

void PutTag(int number, WireType type, std::string& out) {
  PutVarint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type), out);
}

absl::Status Malformed() { return absl::InvalidArgumentError("a message is malformed"); }

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

absl::StatusOr<bool> WireReader::Next(WireField& field) {
  if (rest_.empty()) return false;
  uint64_t tag = 0;
  if (!TakeVarint(rest_, tag) || tag >> 3 == 0) return Malformed();
  field = {.number = tag >> 3, .type = static_cast<WireType>(tag & 7)};
  size_t size = 0;
  switch (field.type) {
    case WireType::kVarint:
      if (!TakeVarint(rest_, field.value)) return Malformed();
      return true;
    case WireType::kBytes: {
      uint64_t length = 0;
      if (!TakeVarint(rest_, length) || length > rest_.size()) return Malformed();
      size = static_cast<size_t>(length);
      field.bytes = rest_.substr(0, size);
      break;
    }
    case WireType::kFixed32:
      size = sizeof(uint32_t);
      if (rest_.size() < size) return Malformed();
      field.value = LoadFixed32(rest_.data());
      break;
    case WireType::kFixed64:
      size = sizeof(uint64_t);
      if (rest_.size() < size) return Malformed();
      field.value = LoadFixed64(rest_.data());
      break;
    default:
      return Malformed();
  }
  rest_.remove_prefix(size);
  return true;
}

void PutNumberField(int number, uint64_t value, std::string& out) {
  if (value == 0) return;
  PutTag(number, WireType::kVarint, out);
  PutVarint(value, out);
}

void PutFixed32Field(int number, uint32_t value, std::string& out) {
  if (value == 0) return;
  PutTag(number, WireType::kFixed32, out);
  PutFixed32(value, out);
}

void PutBytesField(int number, absl::string_view bytes, std::string& out) {
  PutTag(number, WireType::kBytes, out);
  PutVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

}  // namespace gyre
