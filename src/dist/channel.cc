#include "dist/channel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "dist/wire/tensor_codec.h"

namespace gyre::dist {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

absl::string_view BytesOf(const Tensor& value) {
  return {static_cast<const char*>(value.raw_data()), value.bytes()};
}

}  // namespace

Channel::Channel(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)),
      with_checksum_(stream_->NeedsChecksum()),
      buffer_(kBufferBytes, '\0') {}

bool Channel::Send(FrameHeader header, Tensor value) {
  Outgoing frame;
  const bool has_body = value.has_value();
  const size_t dims_bytes = has_body ? value.rank() * sizeof(int64_t) : 0;
  frame.front.resize(FrameHeader::kBytes + dims_bytes);
  if (has_body) {
    header.dtype = value.dtype();
    header.rank = static_cast<uint8_t>(value.rank());
    header.body_bytes = static_cast<uint32_t>(dims_bytes + value.bytes());
    char* const dims = frame.front.data() + FrameHeader::kBytes;
    if (dims_bytes > 0) std::memcpy(dims, value.shape().dims().data(), dims_bytes);
    if (with_checksum_) {
      header.body_crc = Crc32c(value.raw_data(), value.bytes(), Crc32c(dims, dims_bytes));
    }
  }
  EncodeHeader(header, with_checksum_, frame.front.data());
  frame.value = std::move(value);
  return Enqueue(std::move(frame));
}

bool Channel::SendEncoded(FrameHeader header, std::string body) {
  header.flags |= FrameHeader::kEncoded;
  header.body_bytes = static_cast<uint32_t>(body.size());
  if (with_checksum_) header.body_crc = Crc32c(body.data(), body.size());
  Outgoing frame;
  frame.front.resize(FrameHeader::kBytes);
  EncodeHeader(header, with_checksum_, frame.front.data());
  frame.front += body;
  return Enqueue(std::move(frame));
}

bool Channel::Enqueue(Outgoing frame) {
  const std::lock_guard lock(send_mutex_);
  if (!write_status_.ok()) return false;
  outgoing_.push_back(std::move(frame));
  if (outgoing_.size() > 1) return false;
  Flush();
  has_waiting_.store(!outgoing_.empty() || !write_status_.ok(), std::memory_order_relaxed);
  return !outgoing_.empty();
}

// Requirement: send_mutex_ is held.
void Channel::Flush() {
  constexpr size_t kFramesAtOnce = 4;
  while (!outgoing_.empty() && write_status_.ok()) {
    std::array<absl::string_view, 2 * kFramesAtOnce> pieces;
    size_t n = 0, wanted = 0;
    for (size_t i = 0; i < std::min(outgoing_.size(), kFramesAtOnce); ++i) {
      const Outgoing& frame = outgoing_[i];
      const size_t of_front = std::min(frame.done, frame.front.size());
      if (of_front < frame.front.size())
        pieces[n++] = absl::string_view(frame.front).substr(of_front);
      if (frame.value.has_value()) {
        const absl::string_view rest = BytesOf(frame.value).substr(frame.done - of_front);
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
    size_t left = *written;
    while (!outgoing_.empty()) {
      Outgoing& frame = outgoing_.front();
      const size_t bytes =
          frame.front.size() + (frame.value.has_value() ? frame.value.bytes() : 0) - frame.done;
      if (left < bytes) {
        frame.done += left;
        break;
      }
      left -= bytes;
      outgoing_.pop_front();
      if (left == 0) break;
    }
    if (*written < wanted) return;
  }
}

absl::Status Channel::Poll(FrameSink& sink) {
  if (has_waiting_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(send_mutex_);
    Flush();
    if (!write_status_.ok()) return write_status_;
    has_waiting_.store(!outgoing_.empty(), std::memory_order_relaxed);
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
      begin_ += FrameHeader::kBytes;
      GYRE_RETURN_IF_ERROR(BeginBody(sink));
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

absl::Status Channel::BeginBody(FrameSink& sink) {
  GYRE_ASSIGN_OR_RETURN(budget_, sink.Expect(*this, header_));
  body_.clear();
  received_ = 0;
  crc_ = 0;
  refused_ = absl::OkStatus();
  if (header_.body_bytes == 0) {
    EndFrame(sink, Tensor());
  } else {
    reading_ = Reading::kBody;
  }
  return absl::OkStatus();
}

// Of plain data the dimensions, of anything else all of it.
absl::StatusOr<bool> Channel::TakeBody(FrameSink& sink) {
  const bool is_hello = header_.kind == FrameKind::kHello;
  const bool is_message = header_.kind == FrameKind::kMessage;
  const bool is_plain =
      !is_hello && !is_message && (header_.flags & FrameHeader::kEncoded) == 0;
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
    GYRE_RETURN_IF_ERROR(sink.OnHello(*this, hello));
    reading_ = Reading::kHeader;
    return true;
  }
  if (is_message) {
    reading_ = Reading::kHeader;
    sink.OnMessage(*this, body_);
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
  sink.OnValue(*this, header_, std::move(value));
}

}  // namespace gyre::dist
