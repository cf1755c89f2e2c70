// Worker: one thread's part in a run. Fires nodes, and hands on what they make.
//
// Cheap nodes that became ready here run here, last first: no lock, no other thread. Nodes known to
// take longer (see kHeavyNanos) go to a queue from which idle threads may take.
#pragma once

#include <compare>
#include <map>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "exec/dataflow/ready_stack.h"
#include "exec/dataflow/run.h"

namespace gyre::dataflow {

class Worker {
 public:
  // Nodes that take longer go to the queue: moving one costs about a tenth of this.
  static constexpr uint32_t kHeavyNanos = 2000;

  Worker(Run& run, int index);
  ~Worker();

  // The run's own thread: works until the run has ended.
  void WorkToTheEnd(const FunctionPlan& main);
  // A thread that joined: works as long as there is something to take.
  void Help();
  // Frees all that this worker made, a lot of it perhaps later, on a thread of the pool. No other
  // worker may be at work.
  void FreeMemory(bool may_be_later);
  size_t memory() const { return memory_; }

 private:
  friend class Run;

  using Range = std::pair<uint32_t, uint32_t>;

  // worker.cc: the main loop, and firing one node. What runs out of memory fails the run.
  template <typename Work>
  void FailIfOutOfMemory(const Work& work);
  void Drain();
  void FireStack();
  bool TakeQueued(Ready* ready);
  bool PopQueued(Worker& from, Ready* ready);
  void PushQueued(Ready ready);
  void QueueFresh();
  void HouseKeeping(Ready where);
  void Fire(Ready ready);
  void FireDead(Ready ready, const PlanNode& p);
  void RunKernel(Ready ready, const PlanNode& p, bool timed);
  // What was sent leaves before a kernel that may take longer than to send it.
  void FlushBefore(const PlanNode& p, const Tensor* inputs);
  void FailKernel(Ready ready, const PlanNode& p, const absl::Status& status);
  static bool NeedsTiming(const PlanNode& p);
  void Measured(const PlanNode& p, int64_t nanos);
  void RunAsync(Ready ready, const PlanNode& p);
  bool TryRun(Ready ready, const PlanNode& p, Tag tag);
  void CompleteAsync();
  void CompleteAsync(std::unique_ptr<AsyncCall> call);
  // Hands on what a node has made. Consumes `outputs`.
  void FinishKernel(Ready ready, const PlanNode& p, Tensor* outputs);
  void Finish(Ready ready, const PlanNode& p, Tensor* outputs);
  void FinishOne(Ready ready, const PlanNode& p, Tensor& output);
  absl::Status ReadRefs(const PlanNode& p, Tensor* inputs) const;
  const NodeInfo& InfoOf(Ready ready) const {
    return ready.iteration->frame->activation->plan->infos[ready.node()];
  }
  // What a fetch or an observer wants of them, before they go on.
  absl::Status Show(Ready ready, const PlanNode& p, const Tensor* outputs);
  absl::Status KeepFetched(Ready ready, const Tensor* outputs);
  absl::Status Observe(Ready ready, const PlanNode& p, const Tensor* outputs) const;
  void Fail(const absl::Status& status, Ready where) {
    run_.Fail(status, where);
    until_check_ = 1;
  }
  bool IsHeavy(const Iteration& iteration, uint32_t node) const {
    return iteration.nodes[node].cost.load(std::memory_order_relaxed) >= kHeavyNanos;
  }

  // tokens.h: where values and deadness go. Each returns how many nodes of `to` became ready.
  int64_t Deliver(Iteration& to, const PlanNode& p, Tensor* outputs);
  int64_t DeliverDeath(Iteration& to, const PlanNode& p);
  int64_t DeliverOne(Iteration& to, const PlanNode& p, Tensor& output);
  int64_t DeliverOutput(Iteration& to, Range range, Tensor& value);
  int64_t DeliverDeaths(Iteration& to, Range range);
  int64_t DeliverToAll(Iteration& to, Range range, Tensor& value);
  int64_t DeliverControls(Iteration& to, Range range, bool dead);
  int64_t DeliverValue(Iteration& to, const Edge& edge, Tensor&& value);
  int64_t DeliverToMerge(Iteration& to, const Edge& edge, Tensor&& value);
  int64_t DeliverThrough(Iteration& to, const Edge& edge, Tensor&& value);
  int64_t DeliverMerged(Iteration& to, const PlanNode& p, Tensor& value, uint32_t position);
  int64_t DeliverSwitched(Iteration& to, const PlanNode& p, Tensor* inputs);
  int64_t DeliverDead(Iteration& to, const Edge& edge);
  int64_t DeliverControl(Iteration& to, const Edge& edge, bool dead);
  void Put(Iteration& to, uint32_t slot, Tensor&& value);
  int64_t Push(Iteration& to, uint32_t node, bool dead);
  // A node of `iteration` is done, and has made `ready` others of it ready.
  void Settle(Iteration& iteration, int64_t ready);
  bool Change(Iteration& iteration, int64_t by);
  // Ends the iteration when nothing is outstanding any more.
  void Add(Iteration& iteration, int64_t outstanding);

  // frames.cc: loops and calls from birth to end.
  void FireEnter(Ready ready, const PlanNode& p, Tensor value);
  void FireExit(Ready ready, const PlanNode& p, Tensor value);
  void HandDeathOver(Iteration& from, const PlanNode& p);
  void FireNextIteration(Ready ready, const PlanNode& p, Tensor value);
  void HandOver(Iteration& from, const PlanNode& p, Tensor&& value);
  void NoteDeadExit(Iteration& iteration, uint32_t exit);
  int64_t OpenGate(Iteration& iteration, bool alive);
  Frame* OpenFrame(Iteration& parent, int frame_index);
  void SettleInvariants(Frame& frame);
  int64_t DeliverInvariants(Frame& frame, Iteration& to);
  Iteration* NewIteration(Frame& frame, int64_t outstanding);
  int64_t SendWhatIsLeft(Iteration& iteration);
  void EndIteration(Iteration* iteration);
  Iteration* EndFrame(Frame* frame, uint64_t dead_exits, int64_t* change);
  void Widen(Frame* frame);
  void StartCall(Ready ready, const PlanNode& p);
  void StartActivation(const FunctionPlan& plan, std::vector<Tensor> args, Ready caller);
  void EndActivation(Activation* activation);

  // memory.cc: pools of what moves. Null when the budget has no room.
  Iteration* MakeIteration(Frame& frame);
  void Recycle(Iteration* iteration);
  Frame* MakeFrame();
  void Recycle(Frame* frame);
  Activation* MakeActivation();
  void Recycle(Activation* activation);
  bool Charge(size_t bytes);
  // Fails the run for want of memory for calls and iterations.
  void OutOfBudget(Ready where);

  // A lock while other threads may be around, else nothing.
  std::unique_lock<std::mutex> LockIfShared(std::mutex& mutex) const {
    return shared_ ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  }

  Run& run_;
  const int index_;
  const bool may_share_;  // other threads may join the run
  bool is_observed_ = false;
  bool goes_through_ = true;  // values pass Arrival::kThrough: nobody wants to see or shuffle them
  int64_t started_ = 0;       // when the node that fires began, if it is observed
  bool has_sent_ = false;     // something, which may wait in the courier
  bool was_taken_ = false;    // it comes from another thread's queue
  bool queues_ = false;       // some node is known to be heavy, and may go to the queue
  bool shared_ = false;       // they may have: all steps on shared words are atomic
  bool is_joined_ = false;    // guarded by the run's mutex
  int64_t asked_nanos_ = 0;   // when the help was asked for as which it has joined
  int until_check_ = 1;       // nodes to fire before the next look at everything else
  int until_timed_ = 1;       // such looks before one times a node that has been cheap
  ReadyStack stack_;
  std::vector<Ready> fresh_;  // heavy nodes, on their way to the queue
  std::vector<Activation*> ended_;
  std::vector<Tensor> outputs_;  // of the node that fires
  std::optional<std::mt19937_64> explore_;

  std::mutex queue_mutex_;
  // Where a node stands in a queue: how deep in calls; in which iteration of the outermost loop
  // there; when it came.
  struct QueuePlace {
    int depth = 0;
    int64_t trip = 0;
    uint64_t order = 0;
    friend auto operator<=>(const QueuePlace&, const QueuePlace&) = default;
  };
  struct Queued {
    Ready ready;
    int64_t cost = 0;
  };
  std::map<QueuePlace, Queued> queue_;  // guarded by queue_mutex_
  uint64_t queue_order_ = 0;            // guarded by queue_mutex_
  // Nanoseconds that the queue will take, about. Written under queue_mutex_; relaxed: a hint.
  std::atomic<int64_t> queue_cost_{0};

  std::vector<Iteration*> free_iterations_;  // by FramePlan::pool
  Frame* free_frames_ = nullptr;
  Activation* free_activations_ = nullptr;
  Iteration* made_iterations_ = nullptr;
  Frame* made_frames_ = nullptr;
  Activation* made_activations_ = nullptr;
  size_t memory_ = 0;
};

}  // namespace gyre::dataflow
