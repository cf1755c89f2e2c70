// Varints and fields as protocol buffers lay them out
// (https://protobuf.dev/programming-guides/encoding): tensor bundles are made of them, tables as
// well as entries. A few small messages do not ask for a compiler of messages. Stateless, but for
// WireReader, which walks over bytes that must outlive it; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

// Takes a varint from the front of `bytes`; false, and nothing taken, when there is none.
bool TakeVarint(absl::string_view& bytes, uint64_t& value);
void PutVarint(uint64_t value, std::string& out);

// Little-endian numbers of fixed size. Requirement: as many bytes are there.
uint32_t LoadFixed32(const char* bytes);
uint64_t LoadFixed64(const char* bytes);
void PutFixed32(uint32_t value, std::string& out);
void PutFixed64(uint64_t value, std::string& out);

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;       // of all types but kBytes
  absl::string_view bytes;  // of kBytes
};

// The fields of one message, in order.
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : rest_(message) {}
  // False at the end. INVALID_ARGUMENT for what is no message.
  absl::StatusOr<bool> Next(WireField& field);

 private:
  absl::string_view rest_;
};

// Appends a field. As everywhere in proto3, a number that is zero is left out.
void PutNumberField(int number, uint64_t value, std::string& out);
void PutFixed32Field(int number, uint32_t value, std::string& out);
void PutBytesField(int number, absl::string_view bytes, std::string& out);

}  // namespace gyre
