// The host's heap, and what each thread keeps of it to hand out again.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/base/config.h"
#include "gyre/core/tensor.h"

namespace gyre {
namespace {

constexpr size_t kAlignment = 64;

// Blocks that a thread has freed, by size, to be handed out again: aligned ones come from no cache
// of the heap's own, and cost several times as much. When they are too much in all, they go back to
// the heap, so that sizes that are not asked for any more do not stay.
class FreeBlocks {
 public:
  ~FreeBlocks() {
    FreeAll();
    is_closed_ = true;
  }

  // Null: none is kept. Here and below, `bytes` is a multiple of kAlignment.
  void* Take(size_t bytes) {
    if (bytes > kMostBytes) return nullptr;
    Block*& top = stacks_[bytes / kAlignment];
    if (top == nullptr) return nullptr;
    bytes_ -= bytes;
    return std::exchange(top, top->below);
  }

  // Whether it is kept now. Not when the thread is about to end.
  bool Keep(void* block, size_t bytes) {
    if (bytes > kMostBytes || is_closed_) return false;
    if (bytes_ + bytes > kMostInAll) FreeAll();
    bytes_ += bytes;
    Block*& top = stacks_[bytes / kAlignment];
    top = new (block) Block{top};
    return true;
  }

 private:
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  static constexpr size_t kMostBytes = 0;  // it is to see uses of what has been freed
#else
  static constexpr size_t kMostBytes = 32 * 1024;
#endif
  static constexpr size_t kMostInAll = 1024 * 1024;

  struct Block {
    Block* below;
  };

  void FreeAll() {
    for (Block*& top : stacks_) {
      while (top != nullptr) std::free(std::exchange(top, top->below));
    }
    bytes_ = 0;
  }

  Block* stacks_[kMostBytes / kAlignment + 1] = {};
  size_t bytes_ = 0;
  bool is_closed_ = false;
};

class HeapAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    bytes = RoundedUp(bytes);
    void* const kept = free_blocks_.Take(bytes);
    return kept != nullptr ? kept : std::aligned_alloc(kAlignment, bytes);
  }
  void Deallocate(void* block, size_t bytes) override {
    if (!free_blocks_.Keep(block, RoundedUp(bytes))) std::free(block);
  }

 private:
  // Not to 0, for which no block has room.
  static size_t RoundedUp(size_t bytes) {
    return std::max<size_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
  }
  static thread_local FreeBlocks free_blocks_;
};

thread_local FreeBlocks HeapAllocator::free_blocks_;

}  // namespace

Allocator& HostAllocator() {
  static HeapAllocator* const allocator = new HeapAllocator;
  return *allocator;
}

}  // namespace gyre
