// WireReader: the fields of a protocol buffer in its binary form (protobuf.dev, "Encoding"), of bytes
// that nobody vouches for.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace gyre {

class WireReader {
 public:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    uint32_t number = 0;
    Type type = Type::kVarint;
    uint64_t value = 0;       // of all types but kBytes
    absl::string_view bytes;  // of kBytes
  };

  explicit WireReader(absl::string_view bytes) : rest_(bytes) {}

  // The next field. False at the end, and where what follows is none.
  bool Next(Field& field) {
    if (rest_.empty() || is_malformed_) return false;
    uint64_t tag = 0;
    if (!Varint(rest_, tag) || tag >> 3 == 0 || tag >> 32 != 0) return Fail();
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<Type>(tag & 7);
    field.bytes = {};
    switch (field.type) {
      case Type::kVarint:
        return Varint(rest_, field.value) || Fail();
      case Type::kFixed64:
        return Fixed(8, field.value);
      case Type::kFixed32:
        return Fixed(4, field.value);
      case Type::kBytes:
        if (!Varint(rest_, field.value) || field.value > rest_.size()) return Fail();
        field.bytes = rest_.substr(0, field.value);
        rest_.remove_prefix(field.value);
        return true;
    }
    return Fail();
  }
  bool is_malformed() const { return is_malformed_; }

  // Takes a number off the front of `bytes`.
  static bool Varint(absl::string_view& bytes, uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      value |= uint64_t{byte & 0x7fU} << (7 * i);
      if (byte < 0x80) {
        bytes.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  bool Fail() {
    is_malformed_ = true;
    return false;
  }
  bool Fixed(size_t size, uint64_t& value) {
    if (rest_.size() < size) return Fail();
    value = 0;
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }

  absl::string_view rest_;
  bool is_malformed_ = false;
};

}  // namespace gyre
