#include "cluster/channel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "cluster/wire/tensor_codec.h"

namespace gyre::cluster {
namespace {

// Until the other process has said hello, and after.
constexpr size_t kFirstBufferBytes = size_t{1} << 10;
constexpr size_t kBufferBytes = size_t{1} << 16;
// Elements up to this are copied behind their header, frames up to that many bytes next to each
// other.
constexpr size_t kSmallBytes = 256;
constexpr size_t kMostTogether = size_t{1} << 14;
// More than this does not wait for Flush.
constexpr size_t kMostUnsent = size_t{1} << 14;

absl::string_view BytesOf(const Tensor& value) {
  return {static_cast<const char*>(value.raw_data()), value.bytes()};
}

}  // namespace

Channel::Channel(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)),
      with_checksum_(stream_->NeedsChecksum()),
      buffer_(kFirstBufferBytes, '\0') {}

char* Channel::Append(size_t bytes) {
  if (outgoing_.empty() || outgoing_.back().value.has_value() ||
      outgoing_.back().front.size() >= kMostTogether) {
    outgoing_.emplace_back().front = std::exchange(spare_, {});
  }
  std::string& front = outgoing_.back().front;
  const size_t at = front.size();
  front.resize(at + bytes);
  unsent_bytes_ += bytes;
  return front.data() + at;
}

void Channel::AppendFrame(FrameHeader& header, Tensor value) {
  if (!value.has_value()) {
    EncodeHeader(header, with_checksum_, Append(FrameHeader::kBytes));
    return;
  }
  const auto dims = value.shape().dims();
  const size_t dims_bytes = dims.size() * sizeof(int64_t), value_bytes = value.bytes();
  header.dtype = value.dtype();
  header.rank = static_cast<uint8_t>(dims.size());
  header.body_bytes = static_cast<uint32_t>(dims_bytes + value_bytes);
  if (with_checksum_)
    header.body_crc = Crc32c(value.raw_data(), value_bytes, Crc32c(dims.data(), dims_bytes));
  const bool is_small = value_bytes <= kSmallBytes;
  char* const at = Append(FrameHeader::kBytes + dims_bytes + (is_small ? value_bytes : 0));
  EncodeHeader(header, with_checksum_, at);
  char* const body = at + FrameHeader::kBytes;
  if (dims_bytes > 0) std::memcpy(body, dims.data(), dims_bytes);
  if (!is_small) {
    unsent_bytes_ += value_bytes;
    outgoing_.back().value = std::move(value);
  } else if (value_bytes > 0) {
    std::memcpy(body + dims_bytes, value.raw_data(), value_bytes);
  }
}

bool Channel::Send(FrameHeader header, Tensor value) {
  const std::lock_guard lock(send_mutex_);
  if (!write_status_.ok()) return false;
  AppendFrame(header, std::move(value));
  return FlushNow();
}

bool Channel::SendLater(FrameHeader header, Tensor value) {
  const std::lock_guard lock(send_mutex_);
  if (!write_status_.ok()) return false;
  AppendFrame(header, std::move(value));
  if (unsent_bytes_ >= kMostUnsent) return FlushNow();
  has_unsent_.store(true, std::memory_order_relaxed);
  return false;
}

bool Channel::SendEncoded(FrameHeader header, absl::string_view body) {
  header.flags |= FrameHeader::kEncoded;
  header.body_bytes = static_cast<uint32_t>(body.size());
  if (with_checksum_) header.body_crc = Crc32c(body.data(), body.size());
  const std::lock_guard lock(send_mutex_);
  if (!write_status_.ok()) return false;
  char* const at = Append(FrameHeader::kBytes + body.size());
  EncodeHeader(header, with_checksum_, at);
  std::memcpy(at + FrameHeader::kBytes, body.data(), body.size());
  return FlushNow();
}

bool Channel::Flush() {
  if (!has_unsent_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(send_mutex_);
  return write_status_.ok() && FlushNow();
}

// Writes what waits, unless that is for room. True: from now on it is. Requirement: send_mutex_ is
// held.
bool Channel::FlushNow() {
  has_unsent_.store(false, std::memory_order_relaxed);
  if (has_waiting_.load(std::memory_order_relaxed)) return false;
  Write();
  has_waiting_.store(!outgoing_.empty() || !write_status_.ok(), std::memory_order_relaxed);
  return !outgoing_.empty();
}

// Requirement: send_mutex_ is held.
void Channel::Write() {
  constexpr size_t kAtOnce = 4;
  while (!outgoing_.empty() && write_status_.ok()) {
    std::array<absl::string_view, 2 * kAtOnce> pieces;
    size_t n = 0, wanted = 0;
    for (size_t i = 0; i < std::min(outgoing_.size(), kAtOnce); ++i) {
      const Outgoing& frames = outgoing_[i];
      const size_t of_front = std::min(frames.done, frames.front.size());
      if (of_front < frames.front.size())
        pieces[n++] = absl::string_view(frames.front).substr(of_front);
      if (frames.value.has_value()) {
        const absl::string_view rest = BytesOf(frames.value).substr(frames.done - of_front);
        if (!rest.empty()) pieces[n++] = rest;
      }
    }
    for (size_t i = 0; i < n; ++i) wanted += pieces[i].size();
    const absl::StatusOr<size_t> written = stream_->Write(absl::MakeConstSpan(pieces.data(), n));
    if (!written.ok()) {
      write_status_ = written.status();
      outgoing_.clear();
      return;
    }
    unsent_bytes_ -= *written;
    size_t left = *written;
    while (!outgoing_.empty()) {
      Outgoing& frames = outgoing_.front();
      const size_t bytes = frames.bytes() - frames.done;
      if (left < bytes) {
        frames.done += left;
        break;
      }
      left -= bytes;
      if (frames.front.capacity() <= 2 * kMostTogether) {
        spare_ = std::move(frames.front);
        spare_.clear();
      }
      outgoing_.pop_front();
      if (left == 0) break;
    }
    if (*written < wanted) return;
  }
}

absl::Status Channel::Poll(FrameSink& sink) {
  if (has_waiting_.load(std::memory_order_relaxed) || has_unsent_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(send_mutex_);
    has_unsent_.store(false, std::memory_order_relaxed);
    Write();
    has_waiting_.store(!outgoing_.empty() || !write_status_.ok(), std::memory_order_relaxed);
    if (!write_status_.ok()) return write_status_;
  }
  const std::unique_lock lock(read_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return absl::OkStatus();
  if (read_status_.ok()) read_status_ = ReadFrames(sink);
  return read_status_;
}

absl::Status Channel::ReadFrames(FrameSink& sink) {
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool moved, Step(sink));
    if (moved) continue;
    GYRE_ASSIGN_OR_RETURN(const size_t n, Fill());
    if (n == 0) return absl::OkStatus();
    has_heard_.store(true, std::memory_order_relaxed);
  }
}

// Reads into the buffer, or past it, straight into a tensor.
absl::StatusOr<size_t> Channel::Fill() {
  if (reading_ == Reading::kElements && buffered() == 0) {
    auto* const data = static_cast<char*>(value_.mutable_raw_data());
    GYRE_ASSIGN_OR_RETURN(const size_t n, stream_->Read(absl::MakeSpan(
                                              data + received_, value_.bytes() - received_)));
    if (with_checksum_) crc_ = Crc32c(data + received_, n, crc_);
    received_ += n;
    return n;
  }
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
    end_ -= begin_;
    begin_ = 0;
  }
  GYRE_ASSIGN_OR_RETURN(
      const size_t n, stream_->Read(absl::MakeSpan(buffer_.data() + end_, buffer_.size() - end_)));
  end_ += n;
  return n;
}

// Takes a step on what has been read; false: that needs more bytes.
absl::StatusOr<bool> Channel::Step(FrameSink& sink) {
  switch (reading_) {
    case Reading::kHeader: {
      if (buffered() < FrameHeader::kBytes) return false;
      GYRE_ASSIGN_OR_RETURN(
          header_, DecodeHeader({buffer_.data() + begin_, FrameHeader::kBytes}, with_checksum_));
      GYRE_ASSIGN_OR_RETURN(budget_, sink.Expect(header_));
      begin_ += FrameHeader::kBytes;
      BeginBody(sink);
      return true;
    }
    case Reading::kBody:
      return TakeBody(sink);
    case Reading::kElements:
      return TakeElements(sink);
    case Reading::kSkip: {
      const size_t n = std::min(buffered(), header_.body_bytes - received_);
      begin_ += n;
      received_ += n;
      if (received_ < header_.body_bytes) return false;
      EndFrame(sink, refused_);
      return true;
    }
  }
  return BugError("a channel reads nothing");
}

void Channel::BeginBody(FrameSink& sink) {
  body_.clear();
  received_ = 0;
  crc_ = 0;
  refused_ = absl::OkStatus();
  if (header_.body_bytes == 0) {
    EndFrame(sink, Tensor());
  } else {
    reading_ = Reading::kBody;
  }
}

// Of plain data the dimensions, of anything else all of it.
absl::StatusOr<bool> Channel::TakeBody(FrameSink& sink) {
  const bool is_hello = header_.kind == FrameKind::kHello;
  const bool is_message = header_.kind == FrameKind::kMessage;
  const bool is_plain = !is_hello && !is_message && (header_.flags & FrameHeader::kEncoded) == 0;
  if (is_plain && header_.rank * sizeof(int64_t) > header_.body_bytes)
    return absl::InvalidArgumentError("a frame's dimensions are cut off");
  const size_t wanted = is_plain ? header_.rank * sizeof(int64_t) : header_.body_bytes;
  const size_t n = std::min(buffered(), wanted - body_.size());
  body_.append(buffer_.data() + begin_, n);
  begin_ += n;
  if (body_.size() < wanted) return false;
  if (with_checksum_) crc_ = Crc32c(body_.data(), body_.size());
  if (is_plain) {
    GYRE_RETURN_IF_ERROR(BeginElements(body_));
    return true;
  }
  if (with_checksum_ && crc_ != header_.body_crc)
    return absl::DataLossError("a frame's body was damaged on its way");
  if (is_hello) {
    GYRE_ASSIGN_OR_RETURN(const Hello hello, DecodeHello(body_));
    buffer_.resize(kBufferBytes);
    GYRE_RETURN_IF_ERROR(sink.OnHello(hello));
    reading_ = Reading::kHeader;
    return true;
  }
  if (is_message) {
    reading_ = Reading::kHeader;
    sink.OnMessage(body_);
    return true;
  }
  absl::string_view in = body_;
  absl::StatusOr<Tensor> value = DecodeTensor(in, budget_.get());
  if (value.ok() && !in.empty())
    return absl::InvalidArgumentError("a frame holds more than its tensor");
  if (!value.ok() && !absl::IsResourceExhausted(value.status())) return value.status();
  EndFrame(sink, std::move(value));
  return true;
}

absl::Status Channel::BeginElements(absl::string_view dims) {
  Dims sizes(header_.rank);
  if (!dims.empty()) std::memcpy(sizes.data(), dims.data(), dims.size());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
  const size_t size = DTypeSize(header_.dtype);
  const size_t bytes = header_.body_bytes - dims.size();
  if (size == 0 || bytes % size != 0 ||
      static_cast<uint64_t>(shape.num_elements()) != bytes / size) {
    return absl::InvalidArgumentError("a frame's elements do not fill its shape");
  }
  absl::StatusOr<Tensor> value = Tensor::Make(header_.dtype, shape, {nullptr, budget_.get()});
  if (value.ok()) {
    value_ = *std::move(value);
    reading_ = Reading::kElements;
  } else {
    refused_ = value.status();
    received_ = dims.size();
    reading_ = Reading::kSkip;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Channel::TakeElements(FrameSink& sink) {
  const size_t n = std::min(buffered(), value_.bytes() - received_);
  if (n > 0) {
    std::memcpy(static_cast<char*>(value_.mutable_raw_data()) + received_, buffer_.data() + begin_,
                n);
    if (with_checksum_) crc_ = Crc32c(buffer_.data() + begin_, n, crc_);
    begin_ += n;
    received_ += n;
  }
  if (received_ < value_.bytes()) return false;
  if (with_checksum_ && crc_ != header_.body_crc)
    return absl::DataLossError("a frame's body was damaged on its way");
  if (header_.dtype == DType::kBool) NormalizeBools(value_);
  EndFrame(sink, std::move(value_));
  return true;
}

void Channel::EndFrame(FrameSink& sink, absl::StatusOr<Tensor> value) {
  reading_ = Reading::kHeader;
  sink.OnValue(header_, std::move(value));
}

}  // namespace gyre::cluster
