// Run: one step of a program on the dataflow engine.
//
// The caller's thread works on it as worker 0. Where queued work is worth more than waking a
// thread, it shares the run: others join as workers, take nodes from each other's queues, and leave
// when there is nothing to take. As long as nobody has joined, nothing is atomic that need not be.
//
// `mutex` guards what is said to; it is taken when threads join, leave, wait, when the run fails,
// and when an asynchronous kernel calls back. Never on the way of a token. Locks are taken in this
// order: a Gate's, a frame's, a queue's, the run's; the last two never together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "exec/dataflow/frame.h"
#include "exec/dataflow/plan.h"
#include "exec/engine.h"
#include "ops/kernel.h"

namespace gyre::dataflow {

class Worker;

struct RunSettings {
  int window = 0;   // as EngineOptions::window
  int threads = 1;  // that work on a run at most
  ThreadPool* pool = nullptr;
  std::optional<uint64_t> schedule_seed;  // as EngineOptions::schedule_seed
  // For how long worker 0 looks out for what other devices send before it sleeps.
  int64_t look_out_nanos = 0;
};

// An asynchronous kernel that has not called back yet, with all that it may touch. The calls of a
// run are linked through themselves, so that one can end without any memory.
struct AsyncCall {
  // Who is first of the two, the worker that started the kernel and has taken note of it, or the
  // kernel that calls back, leaves the rest to the other.
  enum class State : uint8_t { kStarted, kNoted, kDone };
  std::atomic<State> state{State::kStarted};  // acq_rel: who sees kDone sees status and outputs
  Ready ready;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::optional<KernelContext> context;
  absl::Status status;
  int64_t started = 0;  // if somebody watches
  AsyncCall* previous = nullptr;
  AsyncCall* next = nullptr;
};

// A list of calls, oldest first, which owns them.
class AsyncCalls {
 public:
  AsyncCalls() = default;
  AsyncCalls(AsyncCalls&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  ~AsyncCalls() {
    while (TakeFirst() != nullptr) {
    }
  }

  const AsyncCall* first() const { return first_; }
  int64_t size() const { return size_; }
  void Add(AsyncCall* call);
  // The call is its caller's then.
  void Remove(AsyncCall* call);
  std::unique_ptr<AsyncCall> TakeFirst();  // null when there is none

 private:
  AsyncCall* first_ = nullptr;
  AsyncCall* last_ = nullptr;
  int64_t size_ = 0;
};

class Run {
 public:
  // `plan` and the pool must outlive it.
  Run(const Plan& plan, const RunSettings& settings);
  ~Run();

  // The results of the main graph. May be called again afterwards: the memory that loops and calls
  // needed is kept, within limits. One call at a time.
  absl::StatusOr<std::vector<Tensor>> Execute(absl::Span<const Tensor> feeds, RunEnv& env,
                                              const RunHooks& hooks);

 private:
  friend class Worker;
  class Gate;

  void Reset(absl::Span<const Tensor> feeds, RunEnv& env, const RunHooks& hooks);
  void Finish();

  // Remembers the first error and tells everything that waits to stop.
  void Fail(const absl::Status& status, Ready where) noexcept;
  // Charges the run's budget for bookkeeping; false when there is none left.
  bool Charge(size_t bytes);
  bool HasEnded() const {
    return (attention_.load(std::memory_order_acquire) & (kFailed | kDone)) != 0;
  }
  bool is_watched() const { return hooks_.observer != nullptr || hooks_.progress != nullptr; }
  void Raise(uint32_t attention) { attention_.fetch_or(attention, std::memory_order_release); }

  // The main graph has ended.
  void End();
  void AsyncStarted(AsyncCall* call);
  // Takes back AsyncStarted: it was done by then.
  void AsyncForgotten(AsyncCall* call);
  void AsyncDone(AsyncCall* call) noexcept;
  // Tells whoever waits that something has changed. Requirement: mutex_ is held.
  void NotifyAll();
  AsyncCalls TakeAsyncDone();

  // Sharing. AskForHelp and StopSharing are worker 0's business; other threads Join and Leave.
  void AskForHelp();
  void StopSharing(Worker& worker);
  Worker* Join();
  void Leave(Worker& worker);
  // Worker 0 has nothing to do. False when the run has ended and nobody works on it any more.
  bool WaitForWork(Worker& worker);
  void LookOut();
  void Park(std::unique_lock<std::mutex>& lock);
  bool EndStalled(Worker& worker);
  std::string WaitingText() const;

  const Plan& plan_;
  const RunSettings settings_;
  absl::Span<const Tensor> feeds_;
  RunEnv* env_ = nullptr;
  RunHooks hooks_;
  Courier* courier_ = nullptr;  // of the run's rendezvous, if it has one
  std::atomic<int64_t> charged_{0};
  std::vector<std::unique_ptr<Worker>> workers_;  // [0] is the caller's
  std::vector<Tensor> results_;                   // written by who ends the main graph

  // What workers look at between two nodes. Set with release, so that who acts on kDone sees the
  // results; what else there is to know is guarded by mutex_.
  static constexpr uint32_t kFailed = 1;
  static constexpr uint32_t kDone = 2;
  static constexpr uint32_t kAsyncDone = 4;
  std::atomic<uint32_t> attention_{0};
  std::atomic<bool> shared_{false};  // others may have joined; set by worker 0 alone
  // Nodes in the workers' queues: what a thread could take. A hint; the queues have locks.
  std::atomic<int64_t> queued_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;             // guarded by mutex_
  std::string late_text_;           // guarded by mutex_: what the deadline found it waiting for
  int active_ = 0;                  // guarded by mutex_: workers that have joined
  int64_t asked_nanos_ = 0;         // guarded by mutex_: when help was asked for last
  int asked_ = 0;                   // guarded by mutex_: threads on their way
  int parked_ = 0;                  // guarded by mutex_: workers that wait
  bool waits_for_courier_ = false;  // guarded by mutex_: worker 0 waits there, not on changed_
  AsyncCalls async_done_;           // guarded by mutex_
  // Kernels that have not called back. The list is guarded by mutex_; who fires them adds to it.
  std::atomic<int64_t> async_running_{0};
  AsyncCalls async_calls_;
  bool is_clean_ = true;        // what was made can be used again
  std::shared_ptr<Gate> gate_;  // made when help is asked for the first time
};

// Where a node runs, for kernels that ask (random keys, rendezvous).
Tag TagOf(Ready where);
// The tag that the main iteration of the function called at `site` has.
Tag CalleeTag(Ready site);
// The loops, branches and calls around a node, outermost first. Views into the plan.
std::vector<Surrounding> Around(Ready where);
RunProgress ProgressAt(Ready where);
// As observers are told it; `sources` holds what the result points to.
TokenSite SiteOf(Ready where, std::vector<int>* sources);
// Where an error happened, in the user's words: node, loops, branches and calls, innermost first.
// `inside`: where within the node, if that is a loop that runs as one.
std::string Locate(Ready where, const std::string& inside);

}  // namespace gyre::dataflow
