#include "devices/cuda/pinned_memory.h"

#include <algorithm>
#include <utility>

#include "base/fork.h"
#include "base/memory.h"
#include "devices/cuda/gpu.h"

namespace gyre::cuda {
namespace {

// The part of the machine's memory that may be pinned for one GPU.
constexpr int64_t kPart = 8;

}  // namespace

PinnedMemory::PinnedMemory(Gpu& gpu) : gpu_(gpu), most_(PhysicalMemoryBytes() / kPart) {}

void* PinnedMemory::Allocate(size_t bytes) {
  void* const block = Take(bytes);
  return block != nullptr ? block : HostAllocator().Allocate(bytes);
}

void PinnedMemory::Deallocate(void* data, size_t bytes) {
  if (Holds(data, 1)) {
    GiveBack(data, bytes);
  } else {
    HostAllocator().Deallocate(data, bytes);
  }
}

void* PinnedMemory::Take(size_t bytes) {
  if (bytes > kLargest) return nullptr;
  const size_t number = kSizes.NumberFor(bytes);
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  if (free_[number].empty() && !Grow(number)) return nullptr;
  void* const block = free_[number].back();
  free_[number].pop_back();
  return block;
}

void PinnedMemory::GiveBack(void* block, size_t bytes) {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  free_[kSizes.NumberFor(bytes)].push_back(block);  // it has been there: see Grow
}

bool PinnedMemory::Holds(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  const auto after = slabs_.upper_bound(begin);
  if (after == slabs_.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return begin - start < length && bytes <= length - (begin - start);
}

bool PinnedMemory::Grow(size_t number) {
  const size_t size = kSizes.SizeOf(number);
  const size_t blocks = std::max<size_t>(1, kSlab / size);
  const auto bytes = static_cast<int64_t>(size * blocks);
  if (bytes > most_ - pinned_) return false;
  std::vector<void*>& free = free_[number];
  // Room for all blocks of this size that there are, so that giving one back needs no memory.
  size_t had = 0;
  try {
    had = free.capacity();
    free.reserve(had + blocks);
  } catch (const std::bad_alloc&) {
    return false;
  }
  const Gpu::Current current(gpu_);
  void* slab = nullptr;
  if (!current.status().ok() ||
      gpu_.driver().MemHostAlloc(&slab, size * blocks, kHostAllocPortable) != Result::kSuccess)
    return false;
  try {
    slabs_.emplace(reinterpret_cast<uintptr_t>(slab), size * blocks);
  } catch (const std::bad_alloc&) {
    return false;  // the slab is lost
  }
  for (size_t i = 0; i < blocks; ++i) free.push_back(static_cast<char*>(slab) + i * size);
  pinned_ += bytes;
  return true;
}

}  // namespace gyre::cuda
