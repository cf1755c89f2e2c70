#include "cluster/wire/frame.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "cluster/wire/tensor_codec.h"

namespace gyre::cluster {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

// "gyre", and the version of what follows.
constexpr absl::string_view kMagic = "gyre\1";
constexpr size_t kMaxSecret = 256;

template <typename T>
void Put(char*& out, T value) {
  std::memcpy(out, &value, sizeof(T));
  out += sizeof(T);
}

template <typename T>
T Take(const char*& in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  in += sizeof(T);
  return value;
}

// Whether there is a body exactly where its kind has one.
bool IsSound(const FrameHeader& header) {
  const bool is_dead = (header.flags & FrameHeader::kDead) != 0;
  const bool has_body = header.body_bytes > 0;
  switch (header.kind) {
    case FrameKind::kHello:
    case FrameKind::kMessage:
      return has_body;
    case FrameKind::kData:
      return has_body != is_dead;
    case FrameKind::kOffer:
      return header.dtype == DType::kInt64 && header.rank == 0 && header.flags == 0 &&
             header.body_bytes == sizeof(int64_t);
    case FrameKind::kPulled:
      return has_body && !is_dead;
    case FrameKind::kPull:
    case FrameKind::kCredit:
    case FrameKind::kPing:
    case FrameKind::kPong:
      return !has_body;
  }
  return false;
}

}  // namespace

void EncodeHeader(const FrameHeader& header, bool with_checksum, char* out) {
  char* const begin = out;
  Put(out, static_cast<uint8_t>(header.kind));
  Put(out, static_cast<uint8_t>(header.dtype));
  Put(out, header.flags);
  Put(out, header.rank);
  Put(out, header.body_bytes);
  Put(out, header.step);
  Put(out, header.key.edge);
  Put(out, header.key.tag.frame);
  Put(out, header.key.tag.iteration);
  Put(out, header.number);
  Put(out, with_checksum ? header.body_crc : 0u);
  Put(out, with_checksum ? Crc32c(begin, out - begin) : 0u);
}

absl::StatusOr<FrameHeader> DecodeHeader(absl::string_view bytes, bool with_checksum) {
  if (bytes.size() != FrameHeader::kBytes)
    return absl::InvalidArgumentError("a frame's header is cut off");
  const char* in = bytes.data();
  FrameHeader header;
  const auto kind = Take<uint8_t>(in);
  const auto dtype = Take<uint8_t>(in);
  header.kind = static_cast<FrameKind>(kind);
  header.dtype = static_cast<DType>(dtype);
  header.flags = Take<uint8_t>(in);
  header.rank = Take<uint8_t>(in);
  header.body_bytes = Take<uint32_t>(in);
  header.step = Take<uint64_t>(in);
  header.key.edge = Take<uint64_t>(in);
  header.key.tag.frame = Take<uint64_t>(in);
  header.key.tag.iteration = Take<int64_t>(in);
  header.number = Take<uint64_t>(in);
  header.body_crc = Take<uint32_t>(in);
  const auto crc = Take<uint32_t>(in);
  if (with_checksum && crc != Crc32c(bytes.data(), FrameHeader::kBytes - sizeof(crc)))
    return absl::DataLossError("a frame's header was damaged on its way");
  if (kind < static_cast<uint8_t>(FrameKind::kHello) ||
      kind > static_cast<uint8_t>(FrameKind::kMessage)) {
    return absl::InvalidArgumentError(absl::StrCat("there is no frame of kind ", kind));
  }
  if (dtype != 0 && DTypeOfByte(dtype) == DType::kInvalid)
    return absl::InvalidArgumentError(absl::StrCat("a frame's value has the unknown type ", dtype));
  if (!IsSound(header))
    return absl::InvalidArgumentError(absl::StrCat("a frame of kind ", kind, " has another body"));
  return header;
}

std::string EncodeHello(const Hello& hello) {
  std::string body(kMagic);
  for (const uint64_t id : {hello.from, hello.to})
    body.append(reinterpret_cast<const char*>(&id), sizeof(id));
  return body + hello.secret;
}

absl::StatusOr<Hello> DecodeHello(absl::string_view body) {
  constexpr size_t kFixed = kMagic.size() + 2 * sizeof(uint64_t);
  if (body.size() < kFixed || body.size() > kFixed + kMaxSecret ||
      body.substr(0, kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("whoever calls speaks no tensor channel of this version");
  }
  const char* in = body.data() + kMagic.size();
  Hello hello;
  hello.from = Take<uint64_t>(in);
  hello.to = Take<uint64_t>(in);
  hello.secret = std::string(body.substr(kFixed));
  return hello;
}

}  // namespace gyre::cluster
