// FrameControl: loops and calls, from birth to end. docs/executor.md draws one iteration's way
// through here.
//
// What every node that has fired goes through is defined in this header, see token_router.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "exec/dataflow/output_reporter.h"
#include "exec/dataflow/run_control.h"
#include "exec/dataflow/state_pools.h"
#include "exec/dataflow/token_router.h"

namespace gyre::dataflow {

// How many nodes a worker fires before it looks at everything else: the clock, the budget, whether
// the run has ended.
class Pace {
 public:
  // To be asked before each node.
  bool IsTimeToLook() { return --left_ <= 0; }
  void LookAfter(int nodes) { left_ = nodes; }
  void LookNow() { left_ = 1; }

 private:
  int left_ = 1;
};

// Of one worker; touched by its thread.
class FrameControl {
 public:
  // `queued`: as ReadyQueues's. `thread`: the worker's number. `explore` draws the windows of
  // loops; null: they are as wide as pays. All references must outlive it.
  FrameControl(RunControl& run, std::atomic<int64_t>& queued, Pace& pace, int thread,
               std::mt19937_64* explore);

  TokenRouter& router() { return router_; }
  OutputReporter& reporter() { return reporter_; }
  StatePools& pools() { return pools_; }

  // Fails the run, and has the worker see that it has ended.
  void Fail(const absl::Status& status, Ready where) {
    run_.Fail(status, where);
    pace_.LookNow();
  }

  // ---- What a node that has fired has made: reported, and handed on to its readers

  void Finish(Ready ready, const PlanNode& p, Tensor* outputs);
  // As Finish, of a node with one output.
  void FinishOne(Ready ready, const PlanNode& p, Tensor& output);
  // A node of `iteration` is done, and has made `ready` others of it ready.
  void Settle(Iteration& iteration, int64_t ready) {
    if (ready != 1) Add(iteration, ready - 1);
  }
  // Changes what the iteration waits for, and ends it when that is nothing any more.
  void Add(Iteration& iteration, int64_t outstanding) {
    if (Change(iteration, outstanding)) EndIteration(&iteration);
  }

  // ---- Loops. Values without a value: the node is dead.

  void FireEnter(Ready ready, const PlanNode& p, Tensor value);
  void FireExit(Ready ready, const PlanNode& p, Tensor value);
  void FireNextIteration(Ready ready, const PlanNode& p, Tensor value);
  // Of a NextIteration that is dead in a frame that other devices run, too: a variable that has
  // died is dead in the iterations to come, if there are any, rather than missing, since they wait
  // for what comes of it.
  void PassDeathOn(Iteration& from, const PlanNode& p);
  // Gives what has come to a NextIteration to the next iteration, or keeps it until that may begin.
  void HandOver(Iteration& from, const PlanNode& p, Tensor&& value);
  // A heavy node in `frame`: its loops, and those around it, need no longer hold back what could
  // run beside it.
  void Widen(Frame* frame);
  // A loop on registers has paused so often: it goes on behind what has been ready for longest.
  void PutBack(Ready ready, int64_t pauses);

  // ---- Calls

  void StartCall(Ready ready, const PlanNode& p);
  // Of the main graph, by no caller.
  void StartMain(const FunctionPlan& main) { StartActivation(main, {}, Ready()); }
  // A call that nothing is outstanding of any more; null when there is none. EndActivation hands on
  // its results.
  Activation* TakeEnded() {
    if (ended_.empty()) return nullptr;
    Activation* const activation = ended_.back();
    ended_.pop_back();
    return activation;
  }
  void EndActivation(Activation* activation);

  // Frees all that was made here (StatePools::FreeAll).
  void FreeMemory(ThreadPool* later);

 private:
  void OutOfBudget(Ready where);
  void NoteDeadExit(Iteration& iteration, NodeIndex exit);
  Frame* OpenFrame(Iteration& parent, FrameIndex index);
  void SettleInvariants(Frame& frame);
  int64_t DeliverInvariants(Frame& frame, Iteration& to);
  Iteration* NewIteration(Frame& frame, int64_t outstanding);
  int64_t SendWhatIsLeft(Iteration& iteration);
  // True when the iteration has nothing to wait for any more.
  bool Change(Iteration& iteration, int64_t by);
  void EndIteration(Iteration* iteration);
  Iteration* EndFrame(Frame* frame, uint64_t dead_exits, int64_t* change);
  void StartActivation(const FunctionPlan& plan, std::vector<Tensor> args, Ready caller);

  TokenRouter router_;  // first: see Worker
  OutputReporter reporter_;
  StatePools pools_;
  RunControl& run_;
  Pace& pace_;
  std::mt19937_64* const explore_;
  std::vector<Activation*> ended_;
};

[[gnu::always_inline]] inline bool FrameControl::Change(Iteration& iteration, int64_t by) {
  if (router_.shared()) [[unlikely]]
    return iteration.outstanding.fetch_add(by, std::memory_order_acq_rel) + by == 0;
  const int64_t now = iteration.outstanding.load(std::memory_order_relaxed) + by;
  iteration.outstanding.store(now, std::memory_order_relaxed);
  return now == 0;
}

inline void FrameControl::Finish(Ready ready, const PlanNode& p, Tensor* outputs) {
  if (p.is_fetched || reporter_.is_observed()) [[unlikely]] {
    if (absl::Status status = reporter_.Report(ready, outputs); !status.ok())
      return Fail(status, ready);
  }
  Settle(*ready.iteration, router_.Deliver(*ready.iteration, p, outputs));
}

[[gnu::always_inline]] inline void FrameControl::FinishOne(Ready ready, const PlanNode& p,
                                                           Tensor& output) {
  if (p.is_fetched || reporter_.is_observed()) [[unlikely]]
    return Finish(ready, p, &output);
  Settle(*ready.iteration, router_.DeliverOne(*ready.iteration, p, output));
}

}  // namespace gyre::dataflow
