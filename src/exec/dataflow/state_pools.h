// Pools of iterations, frames and activations. What a run once needed stays with its workers: an
// iteration is a block that is filled in again, not memory that comes and goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "exec/dataflow/frame.h"

namespace gyre::dataflow {

// What a run's bookkeeping takes from its budget. Thread-safe between Begin and Release.
class RunMemory {
 public:
  // Null: no limit.
  void Begin(MemoryBudget* budget) { budget_ = budget; }
  // False when the budget has no room.
  bool Charge(size_t bytes) {
    if (budget_ == nullptr) return true;
    const auto n = static_cast<int64_t>(bytes);
    if (!budget_->Charge(n)) return false;
    charged_.fetch_add(n, std::memory_order_relaxed);
    return true;
  }
  void Release() {
    if (budget_ != nullptr) budget_->Release(charged_.exchange(0, std::memory_order_relaxed));
  }

 private:
  MemoryBudget* budget_ = nullptr;
  std::atomic<int64_t> charged_{0};
};

// Of one worker, touched by its thread: but what it made may be given back to another's pools.
class StatePools {
 public:
  // `memory` must outlive it. `num_pools`: Plan::num_pools.
  StatePools(RunMemory& memory, int num_pools) : memory_(memory) {
    free_iterations_.resize(static_cast<size_t>(num_pools));
  }
  ~StatePools() { FreeAll(nullptr); }
  StatePools(const StatePools&) = delete;
  StatePools& operator=(const StatePools&) = delete;

  // Null when the budget has no room.
  Iteration* MakeIteration(Frame& frame);
  Frame* MakeFrame();
  Activation* MakeActivation();
  void Recycle(Iteration* iteration);
  void Recycle(Frame* frame);
  void Recycle(Activation* activation);

  // The open call made here that lies deepest in calls; null when there is none.
  Activation* InnermostOpen() const;
  // Bytes of all that was made here.
  size_t bytes() const { return bytes_; }
  // Frees all that was made here, wherever it is now; a lot of it on a thread of `later`, if given.
  // No other worker may be at work.
  void FreeAll(ThreadPool* later);

 private:
  bool Charge(size_t bytes);

  RunMemory& memory_;
  std::vector<Iteration*> free_iterations_;  // by FramePlan::pool
  Frame* free_frames_ = nullptr;
  Activation* free_activations_ = nullptr;
  Iteration* made_iterations_ = nullptr;
  Frame* made_frames_ = nullptr;
  Activation* made_activations_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace gyre::dataflow
