// Channel: frames over a ByteStream, to and from one other process.
//
// Send never blocks: what the stream has no room for waits here, and goes with the next Send or
// Poll. SendLater leaves it to who calls Flush: many small frames then go at once. Elements of
// plain tensors go straight from their memory into the stream, and from the stream into the memory
// of the tensor that they become. Thread-safe: any number of threads may send; of those that poll,
// one reads and the others leave it to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "cluster/transport/byte_stream.h"
#include "cluster/wire/frame.h"
#include "gyre/core/tensor.h"

namespace gyre::cluster {

// Who takes what a channel receives. Called on the thread that polls.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Whether the body of such a frame is to be taken in at all, and who is charged for it. An error
  // ends the channel.
  virtual absl::StatusOr<RefPtr<MemoryBudget>> Expect(const FrameHeader& header) = 0;
  // `value` is the frame's, as its kind has one; none where it is dead. An error, such as a body
  // that did not fit its budget, is the step's alone.
  virtual void OnValue(const FrameHeader& header, absl::StatusOr<Tensor> value) = 0;
  virtual void OnMessage(absl::string_view message) = 0;
  // An error ends the channel.
  virtual absl::Status OnHello(const Hello& hello) = 0;
};

class Channel {
 public:
  // Bodies of frames that nobody has asked for are no larger than this.
  static constexpr size_t kMaxEagerBytes = size_t{1} << 16;

  explicit Channel(std::unique_ptr<ByteStream> stream);

  // Sends a frame whose body is that of `value` (which has none if the frame needs none). Errors of
  // the stream show in Poll. True: it is the first that had to stay here, and who sleeps on the
  // stream must be woken to wait for room too.
  bool Send(FrameHeader header, Tensor value = Tensor());
  bool SendEncoded(FrameHeader header, absl::string_view body);
  // As Send; unless much waits already, the frame waits for Flush, or for the next of the others.
  bool SendLater(FrameHeader header, Tensor value = Tensor());
  bool Flush();

  // Writes what waits, and hands to the sink what has come. UNAVAILABLE once the other process is
  // gone, DATA_LOSS or INVALID_ARGUMENT once it has sent what is no frame: then, and ever after,
  // the channel is of no use. Where it throws std::bad_alloc, the next call goes on where it was.
  absl::Status Poll(FrameSink& sink);

  // For who sleeps until something comes.
  ByteStream& stream() { return *stream_; }
  // Something waits for room.
  bool HasWaiting() const { return has_waiting_.load(std::memory_order_relaxed); }
  // Whether any byte has come since the last call.
  bool HasHeard() { return has_heard_.exchange(false, std::memory_order_relaxed); }

 private:
  // Frames: any number of small ones as bytes, the last of which may be followed by elements.
  struct Outgoing {
    std::string front;
    Tensor value;     // what follows in its memory
    size_t done = 0;  // bytes of both that are gone
    size_t bytes() const { return front.size() + (value.has_value() ? value.bytes() : 0); }
  };
  // What is read next.
  enum class Reading : uint8_t { kHeader, kBody, kElements, kSkip };

  // The end of the bytes that wait, to write `bytes` of a frame to. Requirement: send_mutex_ is
  // held.
  char* Append(size_t bytes);
  void AppendFrame(FrameHeader& header, Tensor value);
  bool FlushNow();
  void Write();
  absl::Status ReadFrames(FrameSink& sink);
  absl::StatusOr<size_t> Fill();
  absl::StatusOr<bool> Step(FrameSink& sink);
  void BeginBody(FrameSink& sink);
  absl::StatusOr<bool> TakeBody(FrameSink& sink);
  absl::Status BeginElements(absl::string_view dims);
  absl::StatusOr<bool> TakeElements(FrameSink& sink);
  void EndFrame(FrameSink& sink, absl::StatusOr<Tensor> value);
  size_t buffered() const { return end_ - begin_; }

  const std::unique_ptr<ByteStream> stream_;
  const bool with_checksum_;

  std::atomic<bool> has_heard_{false};
  // Set under send_mutex_: there was no room, or the stream has failed.
  std::atomic<bool> has_waiting_{false};
  std::atomic<bool> has_unsent_{false};  // set under send_mutex_: for Flush

  std::mutex send_mutex_;  // guards writing
  std::deque<Outgoing> outgoing_;
  size_t unsent_bytes_ = 0;
  std::string spare_;  // with room, for the next bytes
  absl::Status write_status_;

  std::mutex read_mutex_;  // guards reading
  absl::Status read_status_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // what is in it
  Reading reading_ = Reading::kHeader;
  FrameHeader header_;
  RefPtr<MemoryBudget> budget_;
  std::string body_;
  Tensor value_;
  size_t received_ = 0;  // bytes of the elements, or of what is skipped
  uint32_t crc_ = 0;
  absl::Status refused_;  // why the body is skipped
};

}  // namespace gyre::cluster
