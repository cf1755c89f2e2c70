// CountingAllocator: an allocator with a limit that counts what it has given out. For devices to
// derive theirs from.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "devices/device.h"

namespace gyre {

// Thread-safe, lock-free where the blocks' origin is: some 20 ns for a block and its return.
class CountingAllocator : public Allocator {
 public:
  // `owner` is named in errors; `device`: as Allocator's.
  CountingAllocator(std::string owner, int64_t limit, Device* device = nullptr)
      : Allocator(device), owner_(std::move(owner)), held_(limit) {}

  void* Allocate(size_t bytes) final {
    return Counted(bytes, [&] { return AllocateBlock(bytes); });
  }
  void Deallocate(void* data, size_t bytes) final {
    DeallocateBlock(data, bytes);
    held_.Release(static_cast<int64_t>(bytes));
  }
  std::string name() const final {
    std::string memory = absl::StrCat("the memory of ", owner_);
    {
      const std::lock_guard lock(mutex_);
      if (!trouble_.empty()) absl::StrAppend(&memory, " (", trouble_, ")");
    }
    if (held_.limit() == MemoryStats().limit) return memory;
    return absl::StrCat(memory, ", ", held_.limit(), " bytes, of which ", held_.used(),
                        " are in use");
  }

  MemoryStats stats() const {
    return {held_.used(), held_.peak(), num_allocations_.load(std::memory_order_relaxed),
            held_.limit()};
  }

 protected:
  // What `allocate` gives, which is as AllocateBlock.
  template <typename F>
  void* Counted(size_t bytes, const F& allocate) {
    const auto n = static_cast<int64_t>(bytes);
    if (!held_.Charge(n)) {
      NoteTrouble("");
      return nullptr;
    }
    void* const block = allocate();
    if (block == nullptr) {
      held_.Release(n);
    } else {
      num_allocations_.fetch_add(1, std::memory_order_relaxed);
    }
    return block;
  }
  // Why AllocateBlock has just given nothing, for errors; "": there is no more than that.
  void NoteTrouble(absl::string_view why) {
    const std::lock_guard lock(mutex_);
    trouble_.assign(why.data(), why.size());
  }

 private:
  // As Allocate and Deallocate.
  virtual void* AllocateBlock(size_t bytes) = 0;
  virtual void DeallocateBlock(void* block, size_t bytes) = 0;

  const std::string owner_;
  MemoryBudget held_;
  std::atomic<int64_t> num_allocations_{0};  // relaxed: a statistic
  mutable std::mutex mutex_;
  std::string trouble_;  // guarded by mutex_
};

}  // namespace gyre
