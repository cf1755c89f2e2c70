// CudaStream: a stream of a GPU, and the copies that are put into it.
//
// Work goes to the driver on the thread that puts it in, at once, and is watched from then on. Only
// what must wait for something that the GPU knows nothing of (an event of another type of device)
// is kept here until then, with all that comes after it; and copies between pageable memory and the
// GPU that are not small, which the driver would let the caller wait for: a thread of the pool does
// those, by way of pinned memory, and goes on with the stream.
#pragma once

#include <functional>
#include <memory>

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

 private:
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
