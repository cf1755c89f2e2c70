// WireReader: the fields of a protocol buffer, one by one, of bytes that nobody vouches for. For
// messages of which there are many, and of which little is wanted: nothing is made of them. And
// fields written one by one. Stateless but for the reader; each from one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace gyre::wire {

class WireReader {
 public:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  struct Field {
    int number = 0;
    Type type = Type::kVarint;
    uint64_t value = 0;       // of numbers
    absl::string_view bytes;  // of kBytes: part of what is read

    bool has_bytes() const { return type == Type::kBytes; }
  };

  // Bytes that are too many for a protocol buffer are malformed.
  explicit WireReader(absl::string_view bytes);

  // The next field. False at the end, and where what follows is none.
  bool Next(Field& field);
  bool is_malformed() const { return is_malformed_; }

 private:
  absl::string_view rest_;
  bool is_malformed_;
};

// Takes a number without a tag off the front of `bytes`, as packed fields have them. False:
// malformed.
bool TakeVarint(absl::string_view& bytes, uint64_t& value);

// Appends a field.
void PutNumber(int field, uint64_t value, std::string& to);
void PutBytes(int field, absl::string_view bytes, std::string& to);

}  // namespace gyre::wire
