// Run: one step of a program on the dataflow engine, and the threads that work on it.
//
// The caller's thread works on it as worker 0. Where queued work is worth more than waking a
// thread, it shares the run: others join as workers, take nodes from each other's queues, and leave
// when there is nothing to take. As long as nobody has joined, nothing is atomic that need not be.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/dataflow/run_control.h"

namespace gyre::dataflow {

class ReadyQueues;
class Worker;

class Run final : public RunControl {
 public:
  // `plan` and the pool must outlive it.
  Run(const Plan& plan, const RunSettings& settings);
  ~Run();

  // The results of the main graph. May be called again afterwards: the memory that loops and calls
  // needed is kept, within limits. One call at a time.
  absl::StatusOr<std::vector<Tensor>> Execute(absl::Span<const Tensor> feeds, RunEnv& env,
                                              const RunHooks& hooks);

  // ---- For workers

  // Nodes in the workers' queues: what a thread could take. A hint; the queues have locks.
  std::atomic<int64_t>& queued() { return queued_; }
  // The queue of the worker `i` places behind number `of`, in a ring of all; null where nobody has
  // come yet. Requirement: the run is shared.
  ReadyQueues* QueuesBehind(int of, int i);
  int num_workers() const { return static_cast<int>(workers_.size()); }
  // Worker 0's business: wakes a thread if there is room for one; and, where nobody has joined, or
  // all have left, says that what nobody else can see need not be atomic.
  void AskForHelp();
  void StopSharing();
  // Worker 0 has nothing to do. False when the run has ended and nobody works on it any more.
  bool WaitForWork();

 private:
  class Gate;
  struct Member {
    std::unique_ptr<Worker> worker;  // null: nobody has been here
    bool has_joined = false;         // guarded by mutex_
  };

  // Gives back what the workers have made, if that is too much, or cannot be used again.
  void Finish();
  // Null where there is nothing to do. `asked_nanos`: when help was asked for.
  Worker* Join(int64_t* asked_nanos);
  void Leave(const Worker* worker);
  void SpinOnce();
  void Park(std::unique_lock<std::mutex>& lock);
  bool EndStalled();

  std::vector<Member> workers_;  // [0] is the caller's
  std::atomic<int64_t> queued_{0};
  int active_ = 0;              // guarded by mutex_: workers that have joined
  int64_t asked_nanos_ = 0;     // guarded by mutex_: when help was asked for last
  int asked_ = 0;               // guarded by mutex_: threads on their way
  int parked_ = 0;              // guarded by mutex_: workers that wait
  bool is_clean_ = true;        // what was made can be used again
  std::shared_ptr<Gate> gate_;  // made when help is asked for the first time
};

}  // namespace gyre::dataflow
