// RunControl: what a run is, and how it ends: what those who work on it see of it.
//
// `mutex_` guards what is said to; it is taken when threads join, leave and wait (run.h), when the
// run fails, and when an asynchronous kernel calls back. Never on the way of a token. Locks are
// taken in this order: a Gate's, a frame's, a queue's, the run's; the last two never together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "exec/dataflow/async_calls.h"
#include "exec/dataflow/plan.h"
#include "exec/dataflow/state_pools.h"
#include "exec/engine.h"
#include "ops/kernel.h"

namespace gyre::dataflow {

struct RunSettings {
  ParallelOptions parallel = {.threads = 1};
  TestingOptions testing;
  CompileWhen compile;  // as Plan::Options has it
  ThreadPool* pool = nullptr;
  // For how long worker 0 looks out for what other devices send before it sleeps.
  int64_t spin_nanos = 0;
};

class RunControl {
 public:
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  // ---- What it is. The same from a run's start to its end.

  const Plan& plan() const { return plan_; }
  const RunSettings& settings() const { return settings_; }
  bool may_share() const { return settings_.parallel.threads > 1; }  // other threads may join
  const Tensor& feed(int i) const { return feeds_[i]; }
  RunEnv& env() const { return *env_; }
  RunObserver* observer() const { return hooks_.observer; }
  ProgressProbe* progress() const { return hooks_.progress; }
  bool is_watched() const { return observer() != nullptr || progress() != nullptr; }
  // Of the run's rendezvous; null where it has none.
  Outbox* outbox() const { return outbox_; }
  RunMemory& memory() { return memory_; }

  // ---- How it ends

  // Remembers the first error and tells everything that waits to stop.
  void Fail(const absl::Status& status, Ready where) noexcept;
  // The main graph has ended.
  void Succeed(std::vector<Tensor> results);
  bool HasEnded() const {
    return (attention_.load(std::memory_order_acquire) & (kFailed | kDone)) != 0;
  }
  // Whether the run has ended, or an asynchronous kernel has: what workers ask between two nodes.
  // Relaxed: who gets true asks again.
  bool NeedsAttention() const { return attention_.load(std::memory_order_relaxed) != 0; }

  // ---- Asynchronous kernels

  void AsyncStarted(AsyncCall* call);
  // Takes back AsyncStarted: it was done by then.
  void AsyncForgotten(AsyncCall* call);
  void AsyncDone(AsyncCall* call) noexcept;
  bool HasAsyncDone() const {
    return (attention_.load(std::memory_order_relaxed) & kAsyncDone) != 0;
  }
  AsyncCalls TakeAsyncDone();

 protected:
  // `plan` and the pool must outlive it.
  RunControl(const Plan& plan, const RunSettings& settings) : plan_(plan), settings_(settings) {}
  ~RunControl() = default;

  void Begin(absl::Span<const Tensor> feeds, RunEnv& env, const RunHooks& hooks);
  bool HasFailed() const { return (attention_.load(std::memory_order_relaxed) & kFailed) != 0; }
  // Of a run that has ended.
  absl::StatusOr<std::vector<Tensor>> TakeResults();
  // Tells whoever waits that something has changed. Requirement: mutex_ is held.
  void NotifyAll();
  // What a run that is told to stop was waiting for. Requirement: mutex_ is held.
  std::string WaitingText() const;

  std::atomic<bool> shared_{false};  // others may have joined; set by worker 0 alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string late_text_;          // guarded by mutex_: what the deadline found it waiting for
  bool waits_for_outbox_ = false;  // guarded by mutex_: worker 0 waits there, not on changed_
  AsyncCalls async_done_;          // guarded by mutex_
  // Kernels that have not called back. The list is guarded by mutex_; who fires them adds to it.
  std::atomic<int64_t> async_running_{0};
  AsyncCalls async_calls_;

 private:
  void Raise(uint32_t attention) { attention_.fetch_or(attention, std::memory_order_release); }

  const Plan& plan_;
  const RunSettings settings_;
  absl::Span<const Tensor> feeds_;
  RunEnv* env_ = nullptr;
  RunHooks hooks_;
  Outbox* outbox_ = nullptr;
  RunMemory memory_;
  std::vector<Tensor> results_;  // written by who ends the main graph
  absl::Status status_;          // guarded by mutex_

  // What workers look at between two nodes. Set with release, so that who acts on kDone sees the
  // results; what else there is to know is guarded by mutex_.
  static constexpr uint32_t kFailed = 1;
  static constexpr uint32_t kDone = 2;
  static constexpr uint32_t kAsyncDone = 4;
  std::atomic<uint32_t> attention_{0};
};

}  // namespace gyre::dataflow
