// Channel: frames over a ByteStream, to and from one other process.
//
// Send never blocks: what the stream has no room for waits here, and goes with the next Send or
// Poll. Elements of plain tensors go straight from their memory into the stream, and from the
// stream into the memory of the tensor that they become. Thread-safe: any number of threads may
// send; of those that poll, one reads and the others leave it to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "dist/transport/byte_stream.h"
#include "dist/wire/frame.h"
#include "gyre/tensor.h"

namespace gyre::dist {

class Channel;

// Who takes what a channel receives. Called on the thread that polls.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Whether the body of such a frame is to be taken in at all, and who is charged for it. An error
  // ends the channel.
  virtual absl::StatusOr<RefPtr<MemoryBudget>> Expect(Channel& channel,
                                                      const FrameHeader& header) = 0;
  // `value` is the frame's, as its kind has one; none where it is dead. An error, such as a body
  // that did not fit its budget, is the step's alone.
  virtual void OnValue(Channel& channel, const FrameHeader& header,
                       absl::StatusOr<Tensor> value) = 0;
  virtual void OnMessage(Channel& channel, absl::string_view message) = 0;
  // An error ends the channel.
  virtual absl::Status OnHello(Channel& channel, const Hello& hello) = 0;
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
  bool SendEncoded(FrameHeader header, std::string body);

  // Writes what waits, and hands to the sink what has come. UNAVAILABLE once the other process is
  // gone, DATA_LOSS or INVALID_ARGUMENT once it has sent what is no frame: then, and ever after,
  // the channel is of no use.
  absl::Status Poll(FrameSink& sink);

  // For who sleeps until something comes.
  ByteStream& stream() { return *stream_; }
  bool HasWaiting() const { return has_waiting_.load(std::memory_order_relaxed); }
  // Whether any byte has come since the last call.
  bool HasHeard() { return has_heard_.exchange(false, std::memory_order_relaxed); }
  // When it last had: of who asks it.
  std::atomic<int64_t> heard_nanos{0};
  // Of the other process, once it has said hello (or was dialled).
  std::atomic<uint64_t> peer{0};

 private:
  struct Outgoing {
    std::string front;  // header, dimensions, or all of it
    Tensor value;       // what follows in its memory
    size_t done = 0;    // bytes of both that are gone
  };
  // What is read next.
  enum class Reading : uint8_t { kHeader, kBody, kElements, kSkip };

  bool Enqueue(Outgoing frame);
  void Flush();
  absl::Status ReadFrames(FrameSink& sink);
  absl::StatusOr<size_t> Fill();
  absl::StatusOr<bool> Step(FrameSink& sink);
  absl::Status BeginBody(FrameSink& sink);
  absl::StatusOr<bool> TakeBody(FrameSink& sink);
  absl::Status BeginElements(absl::string_view dims);
  absl::StatusOr<bool> TakeElements(FrameSink& sink);
  void EndFrame(FrameSink& sink, absl::StatusOr<Tensor> value);
  size_t buffered() const { return end_ - begin_; }

  const std::unique_ptr<ByteStream> stream_;
  const bool with_checksum_;

  std::atomic<bool> has_heard_{false};
  std::atomic<bool> has_waiting_{false};  // set under send_mutex_: outgoing_ is not empty

  std::mutex send_mutex_;  // guards writing
  std::deque<Outgoing> outgoing_;
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

}  // namespace gyre::dist
