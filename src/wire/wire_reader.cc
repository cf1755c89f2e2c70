#include "wire/wire_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>

namespace gyre::wire {
namespace {

using Format = google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

const uint8_t* Bytes(absl::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

bool ReadValue(CodedInputStream& input, absl::string_view all, WireReader::Field& field) {
  uint32_t size = 0;
  switch (field.type) {
    case WireReader::Type::kVarint:
      return input.ReadVarint64(&field.value);
    case WireReader::Type::kFixed64:
      return input.ReadLittleEndian64(&field.value);
    case WireReader::Type::kFixed32:
      if (!input.ReadLittleEndian32(&size)) return false;
      field.value = size;
      return true;
    case WireReader::Type::kBytes: {
      if (!input.ReadVarint32(&size)) return false;
      const auto at = static_cast<size_t>(input.CurrentPosition());
      if (size > all.size() - at) return false;
      field.bytes = all.substr(at, size);
      return input.Skip(static_cast<int>(size));
    }
  }
  return false;
}

void PutVarint(uint64_t value, std::string& to) {
  uint8_t bytes[10];
  const uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  to.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

}  // namespace

WireReader::WireReader(absl::string_view bytes)
    : rest_(bytes), is_malformed_(bytes.size() > std::numeric_limits<int>::max()) {}

bool WireReader::Next(Field& field) {
  if (is_malformed_ || rest_.empty()) return false;
  CodedInputStream input(Bytes(rest_), static_cast<int>(rest_.size()));
  const uint32_t tag = input.ReadTag();
  field.number = Format::GetTagFieldNumber(tag);
  field.type = static_cast<Type>(Format::GetTagWireType(tag));
  field.bytes = {};
  is_malformed_ = field.number == 0 || !ReadValue(input, rest_, field);
  rest_.remove_prefix(static_cast<size_t>(input.CurrentPosition()));
  return !is_malformed_;
}

bool TakeVarint(absl::string_view& bytes, uint64_t& value) {
  const absl::string_view head = bytes.substr(0, 10);
  CodedInputStream input(Bytes(head), static_cast<int>(head.size()));
  if (!input.ReadVarint64(&value)) return false;
  bytes.remove_prefix(static_cast<size_t>(input.CurrentPosition()));
  return true;
}

void PutNumber(int field, uint64_t value, std::string& to) {
  PutVarint(Format::MakeTag(field, Format::WIRETYPE_VARINT), to);
  PutVarint(value, to);
}

void PutBytes(int field, absl::string_view bytes, std::string& to) {
  PutVarint(Format::MakeTag(field, Format::WIRETYPE_LENGTH_DELIMITED), to);
  PutVarint(bytes.size(), to);
  to.append(bytes.data(), bytes.size());
}

}  // namespace gyre::wire
