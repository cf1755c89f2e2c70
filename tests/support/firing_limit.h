// Ends a run that fires too many nodes: work that is counted, where a clock would count how busy
// the machine is.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "gyre/core/observer.h"

namespace gyre::test {

// Counts over all the runs that it watches. Called from all threads of a run.
class FiringLimit final : public RunObserver {
 public:
  explicit FiringLimit(int64_t most) : most_(most) {}
  absl::Status OnFired(const Firing&) override {
    if (fired_.fetch_add(1, std::memory_order_relaxed) < most_) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many firings");
  }
  int64_t fired() const { return fired_.load(); }
  bool is_reached() const { return fired() > most_; }

 private:
  const int64_t most_;
  std::atomic<int64_t> fired_{0};
};

}  // namespace gyre::test
