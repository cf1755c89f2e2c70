// CudaStream: a stream of a GPU, and the copies that are put into it.
//
// Work goes to the driver on the thread that puts it in, at once, and is watched from then on. Only
// what must wait for something that the GPU knows nothing of (an event of another type of device)
// is kept here until then, with all that comes after it; and copies between pageable memory and the
// GPU that are not small, which the driver would let the caller wait for: a thread of the pool does
// those, by way of pinned memory, and goes on with the stream.
//
// Kernels are launched without an event. All work is counted, and how much of it is done, the
// events of what has one tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/watcher.h"
#include "devices/device.h"

namespace gyre::cuda {

class CudaStream final : public Stream {
 public:
  // One that cannot be made fails all that is put into it, with why.
  explicit CudaStream(Gpu& gpu);
  ~CudaStream() override;

  Gpu& gpu() const;
  EventPtr Record() override;
  void WaitFor(EventPtr event) override;

  // A piece of work. The GPU is current while `start` runs, which puts it into the stream.
  struct Work {
    std::function<absl::Status(StreamHandle, CudaEvent&)> start;  // null: nothing, as for Record
    bool blocks = false;  // `start` may wait for the GPU: not on a thread of somebody else's
  };
  // The event has the status of `start`, or how the GPU has ended the work.
  EventPtr Put(Work work);

  // Launches kernels: `start(StreamHandle)`, which returns a Status and may be copied, while the
  // GPU is current. At once, with its error; or, where what the stream waits for has not happened,
  // then, and an error fails all that is put in from there on. Nobody is told when they are done.
  template <typename Start>
  absl::Status Launch(const Start& start) {
    std::optional<absl::Status> done = LaunchNow(start);
    if (done) return *std::move(done);
    LaunchLater([start](StreamHandle handle, CudaEvent&) { return start(handle); });
    return absl::OkStatus();
  }
  // How many pieces of work and launches have been put in.
  uint64_t launches() const;
  // How many of them, from the first on, are known to be done. (One that failed is none.)
  uint64_t finished() const;
  // finished() will come to what launches() is now.
  void Look();
  // Waits until all that has gone to the driver is done; finished() says so then.
  void Synchronize();

 private:
  std::optional<absl::Status> LaunchNow(absl::FunctionRef<absl::Status(StreamHandle)> start);
  void LaunchLater(std::function<absl::Status(StreamHandle, CudaEvent&)> start);

  struct State;
  const std::shared_ptr<State> state_;  // shared with what it waits for
};

// See Copier. Thread-safe.
class CudaCopier final : public Copier {
 public:
  explicit CudaCopier(Gpu& gpu) : gpu_(gpu) {}

  EventPtr ToDevice(Stream& stream, const void* host, void* device, size_t bytes) override;
  EventPtr ToHost(Stream& stream, const void* device, void* host, size_t bytes) override;
  EventPtr Within(Stream& stream, const void* from, void* to, size_t bytes) override;

 private:
  Gpu& gpu_;
};

}  // namespace gyre::cuda
