// CUDA: NVIDIA's GPUs. Values lie in their memory and move between GPUs and the host; kernels are
// plumbing's and those of elementwise ops.
#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/counting_allocator.h"
#include "devices/cuda/elementwise.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/pinned_memory.h"
#include "devices/cuda/stream.h"
#include "devices/device_type.h"
#include "devices/plumbing.h"

namespace gyre {
namespace cuda {
namespace {

// The pools of this process's devices, which all its GPUs may copy from and to. Thread-safe.
class Pools {
 public:
  void Add(const Gpu& gpu, PoolHandle pool) {
    const std::lock_guard lock(mutex_);
    for (const Entry& other : pools_) {
      other.gpu->AccessPool(pool, gpu.number());
      gpu.AccessPool(other.pool, other.gpu->number());
    }
    pools_.push_back({&gpu, pool});
  }
  void Remove(PoolHandle pool) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pools_, [pool](const Entry& each) { return each.pool == pool; });
  }

 private:
  struct Entry {
    const Gpu* gpu;
    PoolHandle pool;
  };
  std::mutex mutex_;
  std::vector<Entry> pools_;  // guarded by mutex_
};

Pools& ThePools() {
  static auto* const pools = new Pools;
  return *pools;
}

// Memory of a pool of the device's own, which keeps what is given back. Allocations and returns are
// work in a stream that has nothing else in it; a block is there, for all streams, when it is given
// out. It is given back when nothing uses it any more (see Copier).
class CudaAllocator final : public CountingAllocator {
 public:
  CudaAllocator(Gpu& gpu, int64_t limit, Device* device)
      : CountingAllocator(gpu.name(), limit, device), gpu_(gpu) {}
  ~CudaAllocator() override {
    const Gpu::Current current(gpu_);
    if (pool_ != nullptr) {
      ThePools().Remove(pool_);
      gpu_.driver().MemPoolDestroy(pool_);
    }
    if (stream_ != nullptr) gpu_.driver().StreamDestroy(stream_);
  }

  // Before anything else.
  absl::Status Open() {
    const Driver& driver = gpu_.driver();
    const Gpu::Current current(gpu_);
    GYRE_RETURN_IF_ERROR(current.status());
    GYRE_RETURN_IF_ERROR(
        gpu_.Check("cuStreamCreate", driver.StreamCreate(&stream_, kStreamNonBlocking)));
    const PoolProperties properties = {.location = {.id = gpu_.number()}};
    GYRE_RETURN_IF_ERROR(gpu_.Check("cuMemPoolCreate", driver.MemPoolCreate(&pool_, &properties)));
    ThePools().Add(gpu_, pool_);
    uint64_t kept = std::numeric_limits<uint64_t>::max();
    return gpu_.Check("cuMemPoolSetAttribute",
                      driver.MemPoolSetAttribute(pool_, kReleaseThreshold, &kept));
  }

 private:
  void* AllocateBlock(size_t bytes) override {
    const Gpu::Current current(gpu_);
    Address block = 0;
    absl::Status status = current.status();
    if (status.ok()) {
      status = gpu_.Check(
          "cuMemAllocFromPoolAsync",
          gpu_.driver().MemAllocFromPoolAsync(&block, std::max<size_t>(bytes, 1), pool_, stream_));
    }
    if (status.ok()) {
      status = gpu_.Check("cuStreamSynchronize", gpu_.driver().StreamSynchronize(stream_));
    }
    if (status.ok()) return reinterpret_cast<void*>(block);
    NoteTrouble(status.message());
    return nullptr;
  }
  void DeallocateBlock(void* block, size_t) override {
    const Gpu::Current current(gpu_);
    // Of a GPU that has failed nothing is given out any more.
    if (current.status().ok())
      gpu_.driver().MemFreeAsync(reinterpret_cast<Address>(block), stream_);
  }

  Gpu& gpu_;
  StreamHandle stream_ = nullptr;
  PoolHandle pool_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(Gpu& gpu, const DeviceOptions& options)
      : Device("CUDA", gpu.number()),
        gpu_(gpu),
        allocator_(gpu, options.memory_limit, this),
        copier_(gpu),
        streams_{CudaStream(gpu), CudaStream(gpu), CudaStream(gpu)} {}

  absl::Status Open() { return allocator_.Open(); }

  Allocator& allocator() override { return allocator_; }
  Allocator& host_allocator() override { return gpu_.pinned(); }
  MemoryStats memory() const override { return allocator_.stats(); }
  Copier& copier() override { return copier_; }
  Stream& stream(StreamUse use) override { return streams_[static_cast<int>(use)]; }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CudaStream>(gpu_); }

 private:
  Gpu& gpu_;
  CudaAllocator allocator_;
  CudaCopier copier_;
  CudaStream streams_[3];  // by StreamUse
};

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int id, const DeviceOptions& options) {
  GYRE_ASSIGN_OR_RETURN(Gpu* const gpu, Gpu::Open(id));
  auto device = std::make_unique<CudaDevice>(*gpu, options);
  GYRE_RETURN_IF_ERROR(device->Open());
  return device;
}

absl::StatusOr<Kernel> MakeKernel(const Node& node) {
  absl::StatusOr<Kernel> plumbing = MakePlumbingKernel(node, "CUDA");
  return plumbing.ok() ? plumbing : MakeElementwiseKernel(node);
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
