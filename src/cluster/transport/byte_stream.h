// ByteStream: a connection between two processes, as bytes in order. TCP, shared memory and the
// simulated network are the three kinds there are.
//
// Neither end blocks: what does not fit now, or is not there yet, is tried again later. One thread
// at a time may write, and one read; the two may be different threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gyre::cluster {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Takes as many of these bytes as there is room for: how many. UNAVAILABLE once the other end is
  // gone.
  virtual absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) = 0;
  // How many bytes have come, and been put into `into`; 0: none yet. UNAVAILABLE once the other end
  // is gone and all it sent has been read.
  virtual absl::StatusOr<size_t> Read(absl::Span<char> into) = 0;

  // The next Read that finds nothing looks whether the other end lives, should it not always do so.
  // Any thread, at any time; so is HangUp.
  virtual void LookAgain() = 0;
  // Ends it: the other end notices, and what is written or read from now on is
  // UNAVAILABLE.
  virtual void HangUp() = 0;

  // Who wants to sleep until Read, or Write where `for_write`, may do something, calls PrepareWait,
  // sleeps on fd() unless that has returned false, and calls EndWait. One thread at a time, which
  // need not be one of those that write and read meanwhile.
  virtual bool PrepareWait(bool for_write) = 0;
  virtual void EndWait() = 0;
  // Polled for input, and for output where WaitsForOutput. -1: a simulated one.
  virtual int fd() const = 0;
  // Whether room to write shows as output on fd(); else as input.
  virtual bool WaitsForOutput() const = 0;

  // Bytes may be damaged on their way, so that checksums pay.
  virtual bool NeedsChecksum() const = 0;
  // "TCP 127.0.0.1:4001"
  virtual std::string name() const = 0;
};

using StreamPair = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;

}  // namespace gyre::cluster
