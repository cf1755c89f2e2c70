#include "devices/cuda/memory.h"

#include <algorithm>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/fork.h"
#include "base/status.h"

namespace gyre::cuda {
namespace {

// So much is kept, however little has been in use.
constexpr int64_t kLeastKept = int64_t{1} << 20;

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

}  // namespace

CudaAllocator::CudaAllocator(Gpu& gpu, int64_t limit, Device* device, CudaStream& compute)
    : CountingAllocator(gpu.name(), limit, device),
      gpu_(gpu),
      compute_(compute),
      for_compute_(*this) {}

// The compute stream has ended, and with it all work.
CudaAllocator::~CudaAllocator() {
  const Gpu::Current current(gpu_);
  if (!current.status().ok()) return;
  for (const Size& size : sizes_) {
    for (const Kept& kept : size.kept) gpu_.driver().MemFreeAsync(kept.block, stream_);
  }
  if (pool_ != nullptr) {
    ThePools().Remove(pool_);
    gpu_.driver().MemPoolDestroy(pool_);
  }
  if (stream_ != nullptr) gpu_.driver().StreamDestroy(stream_);
}

absl::Status CudaAllocator::Open() {
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

void* CudaAllocator::Take(size_t bytes, bool for_compute) {
  if (bytes > kLargest) return nullptr;
  const size_t number = kSizes.NumberFor(bytes);
  const Address kept = TakeKept(number, for_compute);
  if (kept != 0) return reinterpret_cast<void*>(kept);
  absl::StatusOr<Address> made = Make(number);
  if (absl::IsResourceExhausted(made.status())) {
    // Other sizes may have it. Waiting for the GPU, they are all done with.
    compute_.Synchronize();
    Trim(0);
    const Gpu::Current current(gpu_);
    if (current.status().ok()) gpu_.driver().StreamSynchronize(stream_);
    made = Make(number);
  }
  if (made.ok()) return reinterpret_cast<void*>(*made);
  NoteTrouble(made.status().message());
  return nullptr;
}

Address CudaAllocator::TakeKept(size_t number, bool for_compute) {
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    std::vector<Kept>& kept = sizes_[number].kept;
    if (kept.empty()) return 0;
    const auto it = for_compute ? kept.end() - 1 : kept.begin();
    if (for_compute || it->after <= compute_.finished()) {
      const Address block = it->block;
      kept.erase(it);
      kept_ -= static_cast<int64_t>(kSizes.SizeOf(number));
      return block;
    }
  }
  compute_.Look();  // so that the next one finds it done with
  return 0;
}

absl::StatusOr<Address> CudaAllocator::Make(size_t number) {
  const size_t bytes = kSizes.SizeOf(number);
  // What is kept takes no room that the limit gives to others.
  const MemoryStats now = stats();
  if (now.limit - now.bytes_in_use < kept_bytes()) Trim(now.limit - now.bytes_in_use);
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    Size& size = sizes_[number];
    try {
      size.kept.reserve(size.blocks + 1);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("the host has no memory left");
    }
    ++size.blocks;
  }
  const Gpu::Current current(gpu_);
  Address block = 0;
  absl::Status status = current.status();
  if (status.ok()) {
    status = gpu_.Check("cuMemAllocFromPoolAsync",
                        gpu_.driver().MemAllocFromPoolAsync(&block, bytes, pool_, stream_));
  }
  if (status.ok())
    status = gpu_.Check("cuStreamSynchronize", gpu_.driver().StreamSynchronize(stream_));
  if (status.ok()) return block;
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  --sizes_[number].blocks;
  return status;
}

void CudaAllocator::DeallocateBlock(void* block, size_t bytes) {
  const size_t number = kSizes.NumberFor(bytes);
  int64_t kept = 0;
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    sizes_[number].kept.push_back({reinterpret_cast<Address>(block), compute_.launches()});
    kept = kept_ += static_cast<int64_t>(kSizes.SizeOf(number));
  }
  // Twice what has ever been in use may be kept, and what the limit leaves.
  const MemoryStats now = stats();
  const int64_t in_use = now.bytes_in_use - static_cast<int64_t>(bytes);
  const int64_t most = std::min(std::max(kLeastKept, 2 * now.peak_bytes), now.limit - in_use);
  if (kept > most) Trim(most);
}

int64_t CudaAllocator::kept_bytes() {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  return kept_;
}

void CudaAllocator::Trim(int64_t bytes) {
  const Gpu::Current current(gpu_);
  if (!current.status().ok()) return;
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  const uint64_t finished = compute_.finished();
  // The largest first: they are the fewest calls.
  for (size_t number = sizes_.size(); number-- > 0 && kept_ > bytes;) {
    Size& size = sizes_[number];
    size_t given = 0;
    while (given < size.kept.size() && size.kept[given].after <= finished && kept_ > bytes) {
      gpu_.driver().MemFreeAsync(size.kept[given++].block, stream_);
      kept_ -= static_cast<int64_t>(kSizes.SizeOf(number));
    }
    size.kept.erase(size.kept.begin(), size.kept.begin() + static_cast<ptrdiff_t>(given));
    size.blocks -= given;
  }
}

}  // namespace gyre::cuda
