// Frames: what travels on a tensor channel between two processes.
//
//   header, 56 bytes, little-endian       | body
//   kind, dtype, flags, rank : u8 each    | data, pulled: dimensions (i64 each), then the elements;
//   body bytes               : u32        |   what is no plain bytes as EncodeTensor writes it
//   step                     : u64        | offer: bytes of the value, an int64 scalar
//   edge, frame              : u64 each   | hello: a Hello
//   iteration                : i64        |
//   number                   : u64        |
//   crc of the body          : u32        | message: as proto/control.proto has it
//   crc of the header before : u32        |
//
// Checksums are CRC-32C; both are zero on channels that go through memory alone. Stateless; any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"
#include "ops/rendezvous.h"

namespace gyre::cluster {

enum class FrameKind : uint8_t {
  kHello = 1,   // who calls, in both directions, before anything else
  kData = 2,    // a value, or its deadness, for key (edge, frame, iteration) of a step
  kOffer = 3,   // the same key has a value of `number` that stays with the sender until pulled; the
                // body is how many bytes that has, an int64
  kPull = 4,    // asks for offer `number` of the step
  kPulled = 5,  // the value of offer `number` of the step
  kCredit = 6,  // the sender may have `number` more bytes underway
  kPing = 7,
  kPong = 8,
  kMessage = 9,  // a control message, from or to a client: its bytes
};

struct FrameHeader {
  static constexpr size_t kBytes = 56;
  static constexpr uint8_t kDead = 1;     // flags: no value
  static constexpr uint8_t kEncoded = 2;  // the body is as EncodeTensor writes it

  FrameKind kind = FrameKind::kPing;
  DType dtype = DType::kInvalid;
  uint8_t flags = 0;
  uint8_t rank = 0;  // of plain data: as many dimensions stand before the elements
  uint32_t body_bytes = 0;
  uint64_t step = 0;
  TransferKey key;
  uint64_t number = 0;
  uint32_t body_crc = 0;
};

// Writes kBytes bytes.
void EncodeHeader(const FrameHeader& header, bool with_checksum, char* out);
// DATA_LOSS: the checksum is wrong; INVALID_ARGUMENT: no frame of this version.
absl::StatusOr<FrameHeader> DecodeHeader(absl::string_view bytes, bool with_checksum);

// The first frame's body.
struct Hello {
  uint64_t from = 0;  // incarnations of the two processes
  uint64_t to = 0;
  std::string secret;  // of the cluster
};
std::string EncodeHello(const Hello& hello);
absl::StatusOr<Hello> DecodeHello(absl::string_view body);

}  // namespace gyre::cluster
