// Copies. Pinned memory is read and written by the GPU itself. The rest of the host's goes by way
// of pinned blocks: small copies to the GPU at once, on the caller's thread, all others piece by
// piece on a thread of the pool, which fills one block while the GPU empties another. Large ones
// have several such threads: one copies slower than the GPU does.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/env.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "devices/cuda/pinned_memory.h"
#include "devices/cuda/stream.h"

namespace gyre::cuda {
namespace {

// Copying so much to a pinned block takes the caller less time than handing it to another thread.
constexpr size_t kAtOnce = size_t{256} << 10;
constexpr size_t kPiece = size_t{4} << 20;
// The threads of a copy, and how much each must have to do.
constexpr size_t kMostThreads = 6, kShare = 4 * kPiece;

Address AddressOf(const void* device) { return reinterpret_cast<Address>(device); }
CudaStream& StreamOf(Stream& stream) { return static_cast<CudaStream&>(stream); }

// A pinned block, and the piece of the copy that is in it.
struct Piece {
  void* block = nullptr;
  EventHandle copied = nullptr;
  size_t offset = 0, bytes = 0;
  bool is_under_way = false;
};

// A copy that a thread waits for, or what one of several threads does of it: the pieces that it is
// the first to come to. The GPU is current.
class PiecewiseCopy {
 public:
  struct Whole {
    bool to_device = false;
    char* host = nullptr;  // read alone if to_device
    Address device = 0;
    size_t bytes = 0;
    std::atomic<size_t> next{0};  // the offset of the first piece that nobody has come to
  };

  PiecewiseCopy(Gpu& gpu, StreamHandle stream, Whole& whole)
      : gpu_(gpu), stream_(stream), whole_(whole) {}
  ~PiecewiseCopy() {
    // After an error alone is any still under way.
    if (std::any_of(std::begin(pieces_), std::end(pieces_),
                    [](const Piece& piece) { return piece.is_under_way; }))
      gpu_.driver().StreamSynchronize(stream_);
    for (const Piece& piece : pieces_) {
      if (piece.block != nullptr) gpu_.pinned().GiveBack(piece.block, kPiece);
      if (piece.copied != nullptr) gpu_.driver().EventDestroy(piece.copied);
    }
  }
  PiecewiseCopy(const PiecewiseCopy&) = delete;
  PiecewiseCopy& operator=(const PiecewiseCopy&) = delete;

  absl::Status Run() {
    size_t turn = 0;
    for (;;) {
      const size_t offset = whole_.next.fetch_add(kPiece);
      if (offset >= whole_.bytes) break;
      Piece& piece = pieces_[turn++ % std::size(pieces_)];
      GYRE_RETURN_IF_ERROR(End(piece));
      piece.offset = offset;
      piece.bytes = std::min(kPiece, whole_.bytes - offset);
      GYRE_RETURN_IF_ERROR(Begin(piece));
    }
    for (size_t i = 0; i < std::size(pieces_); ++i)
      GYRE_RETURN_IF_ERROR(End(pieces_[turn++ % std::size(pieces_)]));
    return absl::OkStatus();
  }

 private:
  absl::Status Begin(Piece& piece) {
    if (piece.block == nullptr) piece.block = gpu_.pinned().Take(kPiece);
    // Without one, the driver uses its own, and this thread waits for it.
    void* const host = whole_.host + piece.offset;
    void* const from = piece.block != nullptr ? piece.block : host;
    if (whole_.to_device && from != host) std::memcpy(from, host, piece.bytes);
    if (piece.copied == nullptr) {
      // The thread sleeps meanwhile: there may be long work in the stream before this.
      GYRE_RETURN_IF_ERROR(gpu_.Check(
          "cuEventCreate",
          gpu_.driver().EventCreate(&piece.copied, kEventDisableTiming | kEventBlockingSync)));
    }
    const Address device = whole_.device + piece.offset;
    GYRE_RETURN_IF_ERROR(
        whole_.to_device
            ? gpu_.Check("cuMemcpyHtoDAsync",
                         gpu_.driver().MemcpyHtoDAsync(device, from, piece.bytes, stream_))
            : gpu_.Check("cuMemcpyDtoHAsync",
                         gpu_.driver().MemcpyDtoHAsync(from, device, piece.bytes, stream_)));
    piece.is_under_way = true;
    return gpu_.Check("cuEventRecord", gpu_.driver().EventRecord(piece.copied, stream_));
  }

  absl::Status End(Piece& piece) {
    if (!piece.is_under_way) return absl::OkStatus();
    GYRE_RETURN_IF_ERROR(
        gpu_.Check("cuEventSynchronize", gpu_.driver().EventSynchronize(piece.copied)));
    piece.is_under_way = false;
    if (!whole_.to_device && piece.block != nullptr)
      std::memcpy(whole_.host + piece.offset, piece.block, piece.bytes);
    return absl::OkStatus();
  }

  Gpu& gpu_;
  const StreamHandle stream_;
  Whole& whole_;
  Piece pieces_[3];
};

// Waits for the whole copy, and for what is before it in the stream.
absl::Status Copy(Gpu& gpu, StreamHandle stream, PiecewiseCopy::Whole& whole) {
  const auto processors = static_cast<size_t>(NumProcessors());
  const size_t threads =
      std::clamp<size_t>(whole.bytes / kShare, 1, std::min(kMostThreads, (processors + 1) / 2));
  if (threads == 1) return PiecewiseCopy(gpu, stream, whole).Run();
  std::mutex mutex;
  absl::Status first;  // guarded by mutex
  RunOnThreads(static_cast<int>(threads), [&](int) {
    const absl::Status status = CatchOutOfMemory("work on a GPU", [&] {
      const Gpu::Current current(gpu);
      return current.status().ok() ? PiecewiseCopy(gpu, stream, whole).Run() : current.status();
    });
    const std::lock_guard lock(mutex);
    if (first.ok()) first = status;
  });
  return first;
}

EventPtr CopyPiecewise(Gpu& gpu, Stream& stream, bool to_device, void* host, Address device,
                       size_t bytes) {
  const auto start = [=, &gpu](StreamHandle handle, CudaEvent&) {
    PiecewiseCopy::Whole whole{to_device, static_cast<char*>(host), device, bytes};
    return Copy(gpu, handle, whole);
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
