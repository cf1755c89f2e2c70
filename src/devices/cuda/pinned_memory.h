// PinnedMemory: memory of the host that a GPU reads and writes by itself, while the processor goes
// on. The system locks its pages, which takes longer than most copies, so that what has been given
// back is kept for the next one, and there is not more of it than a part of the machine's memory.
// What does not fit is from the heap: it serves, if more slowly.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "devices/cuda/size_classes.h"
#include "gyre/core/tensor.h"

namespace gyre::cuda {

class Gpu;

// Thread-safe. Lives for ever.
class PinnedMemory final : public Allocator {
 public:
  explicit PinnedMemory(Gpu& gpu);

  // As Allocator: pinned, or from the heap.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* data, size_t bytes) override;

  // Pinned; null where there is none. To be given back with the same number of bytes.
  void* Take(size_t bytes);
  void GiveBack(void* block, size_t bytes);

  // Whether that is all in a pinned block.
  bool Holds(const void* data, size_t bytes);

  // Of larger blocks there is none.
  static constexpr size_t kLargest = size_t{64} << 20;

 private:
  static constexpr SizeClasses kSizes{256, 4};
  static constexpr size_t kNumSizes = kSizes.NumberFor(kLargest) + 1;
  // What the system is asked for at least, for several small blocks.
  static constexpr size_t kSlab = size_t{1} << 20;

  bool Grow(size_t number);  // holds mutex_

  Gpu& gpu_;
  const int64_t most_;  // bytes
  std::mutex mutex_;    // guards what follows
  int64_t pinned_ = 0;  // bytes
  std::array<std::vector<void*>, kNumSizes> free_;
  std::map<uintptr_t, size_t> slabs_;  // where each begins, and its bytes
};

}  // namespace gyre::cuda
