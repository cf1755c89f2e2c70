// Copies. Pinned memory is read and written by the GPU itself. The rest of the host's goes by way
// of pinned blocks: small copies to the GPU at once, on the caller's thread, all others piece by
// piece on a thread of the pool, which fills one block while the GPU empties another.
#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "devices/cuda/pinned_memory.h"
#include "devices/cuda/stream.h"

namespace gyre::cuda {
namespace {

// Copying so much to a pinned block takes the caller less time than handing it to another thread.
constexpr size_t kAtOnce = size_t{256} << 10;
constexpr size_t kPiece = size_t{4} << 20;

Address AddressOf(const void* device) { return reinterpret_cast<Address>(device); }
CudaStream& StreamOf(Stream& stream) { return static_cast<CudaStream&>(stream); }

// A pinned block, and the piece of the copy that is in it.
struct Piece {
  void* block = nullptr;
  EventHandle copied = nullptr;
  size_t offset = 0, bytes = 0;
  bool is_under_way = false;
};

// A copy that a thread waits for. The GPU is current.
class PiecewiseCopy {
 public:
  PiecewiseCopy(Gpu& gpu, StreamHandle stream, bool to_device, char* host, Address device)
      : gpu_(gpu), stream_(stream), to_device_(to_device), host_(host), device_(device) {}
  ~PiecewiseCopy() {
    gpu_.driver().StreamSynchronize(stream_);
    for (const Piece& piece : pieces_) {
      if (piece.block != nullptr) gpu_.pinned().GiveBack(piece.block, kPiece);
      if (piece.copied != nullptr) gpu_.GiveBack(piece.copied);
    }
  }
  PiecewiseCopy(const PiecewiseCopy&) = delete;
  PiecewiseCopy& operator=(const PiecewiseCopy&) = delete;

  absl::Status Run(size_t bytes) {
    size_t next = 0;
    for (size_t offset = 0; offset < bytes; offset += kPiece) {
      Piece& piece = pieces_[next++ % std::size(pieces_)];
      GYRE_RETURN_IF_ERROR(End(piece));
      piece.offset = offset;
      piece.bytes = std::min(kPiece, bytes - offset);
      GYRE_RETURN_IF_ERROR(Begin(piece));
    }
    for (size_t i = 0; i < std::size(pieces_); ++i)
      GYRE_RETURN_IF_ERROR(End(pieces_[next++ % std::size(pieces_)]));
    return absl::OkStatus();
  }

 private:
  absl::Status Begin(Piece& piece) {
    if (piece.block == nullptr) piece.block = gpu_.pinned().Take(kPiece);
    // Without one, the driver uses its own, and this thread waits for it.
    void* const host = host_ + piece.offset;
    void* const from = piece.block != nullptr ? piece.block : host;
    if (to_device_ && from != host) std::memcpy(from, host, piece.bytes);
    if (piece.copied == nullptr) {
      GYRE_ASSIGN_OR_RETURN(piece.copied, gpu_.TakeEvent());
    }
    const Address device = device_ + piece.offset;
    GYRE_RETURN_IF_ERROR(
        to_device_ ? gpu_.Check("cuMemcpyHtoDAsync",
                                gpu_.driver().MemcpyHtoDAsync(device, from, piece.bytes, stream_))
                   : gpu_.Check("cuMemcpyDtoHAsync",
                                gpu_.driver().MemcpyDtoHAsync(from, device, piece.bytes, stream_)));
    piece.is_under_way = true;
    return gpu_.Check("cuEventRecord", gpu_.driver().EventRecord(piece.copied, stream_));
  }

  absl::Status End(Piece& piece) {
    if (!std::exchange(piece.is_under_way, false)) return absl::OkStatus();
    GYRE_RETURN_IF_ERROR(
        gpu_.Check("cuEventSynchronize", gpu_.driver().EventSynchronize(piece.copied)));
    if (!to_device_ && piece.block != nullptr)
      std::memcpy(host_ + piece.offset, piece.block, piece.bytes);
    return absl::OkStatus();
  }

  Gpu& gpu_;
  const StreamHandle stream_;
  const bool to_device_;
  char* const host_;  // read alone if to_device_
  const Address device_;
  Piece pieces_[3];
};

EventPtr CopyPiecewise(Gpu& gpu, Stream& stream, bool to_device, void* host, Address device,
                       size_t bytes) {
  const auto start = [=, &gpu](StreamHandle handle, CudaEvent&) {
    return PiecewiseCopy(gpu, handle, to_device, static_cast<char*>(host), device).Run(bytes);
  };
  return StreamOf(stream).Put({.start = start, .blocks = true});
}

}  // namespace

EventPtr CudaCopier::ToDevice(Stream& stream, const void* host, void* device, size_t bytes) {
  if (bytes == 0) return stream.Record();
  const Address to = AddressOf(device);
  const bool is_pinned = gpu_.pinned().Holds(host, bytes);
  if (!is_pinned && bytes > kAtOnce)
    return CopyPiecewise(gpu_, stream, true, const_cast<void*>(host), to, bytes);
  const auto start = [=, this](StreamHandle handle, CudaEvent& done) {
    const void* from = host;
    if (!is_pinned) {
      if (void* const block = gpu_.pinned().Take(bytes); block != nullptr) {
        done.Keep(block, bytes);
        from = std::memcpy(block, host, bytes);
      }
    }
    return gpu_.Check("cuMemcpyHtoDAsync", gpu_.driver().MemcpyHtoDAsync(to, from, bytes, handle));
  };
  return StreamOf(stream).Put({.start = start});
}

EventPtr CudaCopier::ToHost(Stream& stream, const void* device, void* host, size_t bytes) {
  if (bytes == 0) return stream.Record();
  const Address from = AddressOf(device);
  if (!gpu_.pinned().Holds(host, bytes))
    return CopyPiecewise(gpu_, stream, false, host, from, bytes);
  const auto start = [=, this](StreamHandle handle, CudaEvent&) {
    return gpu_.Check("cuMemcpyDtoHAsync",
                      gpu_.driver().MemcpyDtoHAsync(host, from, bytes, handle));
  };
  return StreamOf(stream).Put({.start = start});
}

EventPtr CudaCopier::Within(Stream& stream, const void* from, void* to, size_t bytes) {
  if (bytes == 0) return stream.Record();
  const auto start = [=, this](StreamHandle handle, CudaEvent&) {
    return gpu_.Check("cuMemcpyAsync",
                      gpu_.driver().MemcpyAsync(AddressOf(to), AddressOf(from), bytes, handle));
  };
  return StreamOf(stream).Put({.start = start});
}

}  // namespace gyre::cuda
