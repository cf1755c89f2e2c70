// Allocations of this process, counted, and made to fail: this program replaces operator new and
// what buffers of tensors come from. (Not malloc itself, from which exceptions come.) Thread-safe,
// but for FailAllocation, of which there is one at a time.
#pragma once

#include <cstdint>

namespace gyre::faults {

// What operator new has handed out and has not got back.
struct LiveMemory {
  int64_t blocks = 0;
  int64_t bytes = 0;
  friend bool operator==(const LiveMemory&, const LiveMemory&) = default;
};
LiveMemory Live();

// As long as it lives, allocations of all threads are counted, and the one of this number fails,
// once. 0: none does.
class FailAllocation {
 public:
  explicit FailAllocation(int64_t number);
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;

  int64_t counted() const;
  bool has_failed() const;
};

}  // namespace gyre::faults
