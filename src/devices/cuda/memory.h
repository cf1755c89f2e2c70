// CudaAllocator: the memory of one CUDA device.
//
// Blocks that come back are kept, by size, and given out again without a call of the driver. What
// the host has given back, kernels in the compute stream may still read and write: they were put in
// before. So a block remembers how many had been, and goes at once to who will use it in that
// stream, behind them (for_compute), but to others when these are known to be done.
//
//   free ──► kept, with the number of launches ──┬─► for_compute(): the last one that came
//                                                └─► the allocator itself: the first, if it is done
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "devices/counting_allocator.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/size_classes.h"
#include "devices/cuda/stream.h"

namespace gyre::cuda {

// Thread-safe.
class CudaAllocator final : public CountingAllocator {
 public:
  // `compute` is used from Open on; it may end before this.
  CudaAllocator(Gpu& gpu, int64_t limit, Device* device, CudaStream& compute);
  ~CudaAllocator() override;

  // Before anything else.
  absl::Status Open();

  // Of the same memory, blocks that the compute stream alone uses until they are given back, with
  // what is put into it from now on.
  Allocator& for_compute() { return for_compute_; }

 private:
  class ForCompute final : public Allocator {
   public:
    explicit ForCompute(CudaAllocator& whole) : Allocator(whole.device()), whole_(whole) {}
    void* Allocate(size_t bytes) override {
      return whole_.Counted(bytes, [&] { return whole_.Take(bytes, true); });
    }
    void Deallocate(void* data, size_t bytes) override { whole_.Deallocate(data, bytes); }
    std::string name() const override { return whole_.name(); }

   private:
    CudaAllocator& whole_;
  };

  struct Kept {
    Address block = 0;
    uint64_t after = 0;  // launches in the compute stream that may use it
  };
  // Of one size. `kept` has room for all of its blocks.
  struct Size {
    std::vector<Kept> kept;  // in order of `after`
    size_t blocks = 0;       // in use and kept
  };

  static constexpr SizeClasses kSizes{512, 8};
  static constexpr size_t kLargest = size_t{1} << 56;

  void* AllocateBlock(size_t bytes) override { return Take(bytes, false); }
  void DeallocateBlock(void* block, size_t bytes) override;

  void* Take(size_t bytes, bool for_compute);
  // One of those that are kept, or 0.
  Address TakeKept(size_t number, bool for_compute);
  // A block of this size from the driver; RESOURCE_EXHAUSTED where there is no room.
  absl::StatusOr<Address> Make(size_t number);
  int64_t kept_bytes();
  // Gives kept blocks that are done with back to the driver, until `bytes` at most are kept.
  void Trim(int64_t bytes);

  Gpu& gpu_;
  CudaStream& compute_;
  ForCompute for_compute_;
  StreamHandle stream_ = nullptr;  // of nothing but allocations and returns
  PoolHandle pool_ = nullptr;
  std::mutex mutex_;  // guards what follows
  int64_t kept_ = 0;  // bytes
  std::array<Size, kSizes.NumberFor(kLargest) + 1> sizes_;
};

}  // namespace gyre::cuda
