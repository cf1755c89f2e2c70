#include "bundle/stored_bytes.h"

#include <limits>

#include "absl/status/status.h"
#include "bundle/coding.h"
#include "bundle/masked_crc.h"

namespace gyre {
namespace {

constexpr size_t kCrcBytes = sizeof(uint32_t);

// Checksums see a length as a number of fixed size, not as the varint in the file.
uint32_t ExtendByLength(uint64_t length, uint32_t crc) {
  std::string bytes;
  if (length <= std::numeric_limits<uint32_t>::max()) {
    PutFixed32(static_cast<uint32_t>(length), bytes);
  } else {
    PutFixed64(length, bytes);
  }
  return Crc32c(bytes.data(), bytes.size(), crc);
}

absl::Status Damaged() { return absl::InvalidArgumentError("its strings are damaged"); }

}  // namespace

absl::StatusOr<uint32_t> DecodeStrings(absl::string_view bytes, Tensor& tensor) {
  const absl::Span<std::string> strings = tensor.mutable_values<std::string>();
  absl::string_view lengths = bytes, rest = bytes;
  uint32_t crc = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    uint64_t length = 0;
    if (!TakeVarint(rest, length)) return Damaged();
    crc = ExtendByLength(length, crc);
  }
  if (rest.size() < kCrcBytes || LoadFixed32(rest.data()) != MaskCrc(crc)) return Damaged();
  crc = Crc32c(rest.data(), rest.size(), crc);
  rest.remove_prefix(kCrcBytes);
  for (std::string& string : strings) {
    uint64_t length = 0;
    if (!TakeVarint(lengths, length) || length > rest.size()) return Damaged();
    string.assign(rest.data(), length);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return Damaged();
  return MaskCrc(crc);
}

uint32_t EncodeStrings(const Tensor& tensor, std::string& bytes) {
  uint32_t crc = 0;
  for (const std::string& string : tensor.values<std::string>()) {
    PutVarint(string.size(), bytes);
    crc = ExtendByLength(string.size(), crc);
  }
  const size_t begin = bytes.size();
  PutFixed32(MaskCrc(crc), bytes);
  for (const std::string& string : tensor.values<std::string>()) bytes += string;
  return MaskCrc(Crc32c(bytes.data() + begin, bytes.size() - begin, crc));
}

}  // namespace gyre
