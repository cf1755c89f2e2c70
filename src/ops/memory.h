// What objects that hold tensors (lists, arrays, stacks, queues, variables) need of memory: an
// account of the bytes of their own structure, and destruction whose depth does not grow with the
// data.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Bytes taken out of a run's budget, given back on destruction. Not thread-safe.
class MemoryCharge {
 public:
  // Charges nothing yet. `budget` may be null: then everything fits.
  explicit MemoryCharge(MemoryBudget* budget) : budget_(RefPtr<MemoryBudget>::Share(budget)) {}
  ~MemoryCharge() { Set(0).IgnoreError(); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Makes `bytes` the amount charged. RESOURCE_EXHAUSTED (and nothing changes) when it does not
  // fit; never fails when it is less than before.
  absl::Status Set(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  MemoryBudget* budget() const { return budget_.get(); }

 private:
  RefPtr<MemoryBudget> budget_;
  int64_t bytes_ = 0;
};

// What a run says whose own bookkeeping does not fit its budget.
absl::Status CallsDoNotFit(const MemoryBudget& budget);

// Drops a reference. When that destroys an object which drops others through this function, they
// are destroyed after it rather than inside its destructor, so a chain of any length needs a
// constant amount of C++ stack.
// Without memory to put them off, they are destroyed at once.
void DropIteratively(RefPtr<RefCounted> object) noexcept;
// The same for tensors; only those that hold objects cost anything.
void DropIteratively(Tensor tensor) noexcept;
void DropIteratively(std::vector<Tensor> tensors) noexcept;

}  // namespace gyre
