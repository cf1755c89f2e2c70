// CUDA: NVIDIA's GPUs. Values lie in their memory and move between GPUs and the host.
#include "devices/cuda/cuda_device.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/status.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/kernels.h"
#include "devices/cuda/moves.h"
#include "devices/cuda/pinned_memory.h"

namespace gyre {
namespace cuda {

CudaDevice::CudaDevice(Gpu& gpu, const DeviceOptions& options)
    : Device("CUDA", gpu.number()),
      gpu_(gpu),
      allocator_(gpu, options.memory_limit, this, compute()),
      copier_(gpu),
      streams_{CudaStream(gpu), CudaStream(gpu), CudaStream(gpu)} {}

absl::StatusOr<CudaDevice*> CudaDevice::Of(const KernelContext& ctx) {
  const Allocator* const allocator = ctx.env().allocator;
  auto* const device =
      allocator == nullptr ? nullptr : dynamic_cast<CudaDevice*>(allocator->device());
  if (device == nullptr) return BugError("a GPU's kernel ran on another device");
  return device;
}

Allocator& CudaDevice::host_allocator() { return gpu_.pinned(); }

bool CudaDevice::TakesFromHost(const Tensor& value) const {
  constexpr int64_t kMostElements = 32;
  return value.rank() == 1 && value.num_elements() <= kMostElements &&
         (value.dtype() == DType::kInt32 || value.dtype() == DType::kInt64);
}

absl::StatusOr<Tensor> CudaDevice::There(const KernelContext& ctx, const Tensor& value) {
  if (value.device() != nullptr || value.bytes() == 0) return value;
  GYRE_ASSIGN_OR_RETURN(Tensor there, MakeResult(ctx, value.dtype(), value.shape()));
  const auto start = [this, value, to = reinterpret_cast<Address>(there.raw_data())](
                         StreamHandle stream, CudaEvent& done) {
    const void* from = value.raw_data();
    if (void* const block = gpu_.pinned().Take(value.bytes()); block != nullptr) {
      done.Keep(block, value.bytes());
      from = std::memcpy(block, from, value.bytes());
    }
    return gpu_.Check("cuMemcpyHtoDAsync",
                      gpu_.driver().MemcpyHtoDAsync(to, from, value.bytes(), stream));
  };
  const EventPtr done = compute().Put({.start = start});
  if (done->HasHappened()) GYRE_RETURN_IF_ERROR(done->Wait());
  return there;
}

namespace {

// How an event that one thread waits for has ended. Thread-safe.
class Arrival {
 public:
  void Note(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_all();
  }
  // Cancellation is looked for now and then.
  absl::Status Wait(const KernelContext& ctx) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(1),
                              [this] { return status_.has_value(); })) {
      lock.unlock();
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      lock.lock();
    }
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> status_;  // guarded by mutex_
};

}  // namespace

absl::Status CudaDevice::Fetch(const KernelContext& ctx, const void* from, void* to, size_t bytes) {
  // Who stops waiting leaves the copy a place to go to.
  GYRE_ASSIGN_OR_RETURN(const Tensor between,
                        Tensor::Make(DType::kUint8, Shape::Vector(static_cast<int64_t>(bytes)),
                                     {.allocator = &host_allocator()}));
  auto* const host = const_cast<void*>(between.raw_data());
  const auto start = [this, from, host, bytes](StreamHandle stream, CudaEvent&) {
    return gpu_.Check(
        "cuMemcpyDtoHAsync",
        gpu_.driver().MemcpyDtoHAsync(host, reinterpret_cast<Address>(from), bytes, stream));
  };
  const EventPtr done = compute().Put({.start = start});
  const auto arrival = std::make_shared<Arrival>();
  done->Then([arrival, between](const absl::Status& status) { arrival->Note(status); });
  GYRE_RETURN_IF_ERROR(arrival->Wait(ctx));
  std::memcpy(to, host, bytes);
  return absl::OkStatus();
}

namespace {

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int id, const DeviceOptions& options) {
  GYRE_ASSIGN_OR_RETURN(Gpu* const gpu, Gpu::Open(id));
  UseCudaMemory();
  auto device = std::make_unique<CudaDevice>(*gpu, options);
  GYRE_RETURN_IF_ERROR(device->Open());
  return device;
}

}  // namespace
}  // namespace cuda

DeviceType CudaDeviceType() {
  return {.name = "CUDA",
          .doc = "a GPU of NVIDIA's and its memory",
          .is_discrete = true,
          .count = cuda::Gpu::Count,
          .why_none = cuda::Gpu::WhyNone,
          .make = cuda::MakeDevice,
          .kernel = cuda::MakeKernel};
}

}  // namespace gyre
