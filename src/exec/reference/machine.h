// Machine: executes one run of a ReferencePlan on the calling thread.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "exec/engine.h"
#include "exec/reference/state.h"

namespace gyre::reference {

class Machine {
 public:
  // `plan`, `feeds` and `env` must outlive the machine. `window` as in EngineOptions.
  Machine(const ReferencePlan& plan, absl::Span<const Tensor> feeds, RunEnv& env,
          const RunHooks& hooks, int window);
  ~Machine();

  // The results of the main function. Called once.
  absl::StatusOr<std::vector<Tensor>> Run();

 private:
  struct AsyncCall;

  // machine.cc: the main loop, and running one node.
  void Loop();
  void Execute(const Ready& ready);
  void RunKernel(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs);
  void FinishKernel(const Ready& ready, const NodePlan& p, std::vector<Tensor> outputs);
  void RunAsync(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs);
  void WaitForAsync();
  void AnswerWaiting() const;
  void CompleteAsync(std::list<AsyncCall> call);
  absl::Status ReadRefs(const NodePlan& p, std::vector<Tensor>& inputs) const;
  // Remembers the first error, located at `where`, and tells everything that waits to stop.
  void Fail(const absl::Status& status, const Ready& where) noexcept;
  // Charges the run's budget for bookkeeping; false (and failed) when there is none left.
  bool Charge(size_t bytes, const Ready& where);
  void Release(size_t bytes);

  // tokens.cc: where values and deadness go.
  void Finish(const Ready& ready, std::vector<Tensor> outputs, bool dead);
  void Propagate(const Ready& ready, const NodePlan& p, std::vector<Tensor>& outputs, bool dead);
  void PropagateEnter(Iteration& from, const NodePlan& p, std::vector<Tensor>& outputs, bool dead);
  void PropagateNextIteration(Iteration& from, const NodePlan& p, Tensor value);
  void OpenGate(Iteration& iteration, bool alive);
  void PropagateExit(const Ready& ready, const NodePlan& p, std::vector<Tensor>& outputs,
                     bool dead);
  void Deliver(Iteration& to, const NodePlan& p, absl::Span<Tensor> outputs, bool dead);
  void DeliverData(Iteration& to, DataEdge edge, Tensor value);
  void DeliverControl(Iteration& to, NodeId dst, bool dead);
  void Schedule(Iteration& iteration, NodeId node, bool dead);
  void Retire(Iteration& iteration);
  LoopFrame* OpenFrame(Iteration& parent, int frame_index, const Ready& where);
  Iteration* NewIteration(LoopFrame& frame);
  void CleanUp(LoopFrame* frame);
  void CloseFrame(LoopFrame* frame);
  IterationPtr MakeIteration(LoopFrame& frame);
  void Recycle(IterationPtr iteration);

  // calls.cc: If, Case, While, For and calls.
  void StartCall(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs);
  void StartLoop(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs);
  void StartActivation(const FunctionPlan& plan, std::vector<Tensor> args,
                       std::unique_ptr<PendingCall> caller);
  void StepWhile(std::unique_ptr<PendingCall> call, std::vector<Tensor> results);
  void StepFor(std::unique_ptr<PendingCall> call, std::vector<Tensor> values);
  void EndActivation(Activation* activation);
  void FinishCall(const PendingCall& call, std::vector<Tensor> outputs);
  void FreeActivation(Activation* activation);
  uint64_t CalleeFrameId(const PendingCall& call) const;

  // errors.cc
  std::string Locate(const Ready& where) const;

  // observe.cc
  absl::Status Observe(const Ready& ready, const NodePlan& p,
                       absl::Span<const Tensor> outputs) const;
  std::vector<Surrounding> Around(const Ready& where) const;
  RunProgress ProgressAt(const Ready& where) const;

  const ReferencePlan& plan_;
  const absl::Span<const Tensor> feeds_;
  RunEnv& env_;
  const RunHooks hooks_;
  const int window_;

  std::vector<Ready> ready_;  // a stack: depth first keeps memory small
  std::vector<Ready> batch_;  // made ready by the node that is finishing, in order
  std::vector<Activation*> ended_;
  std::list<Activation> activations_;
  std::unordered_map<const FramePlan*, std::vector<IterationPtr>> spare_iterations_;
  std::vector<Tensor> results_;
  absl::Status status_;
  int64_t charged_ = 0;
  uint64_t steps_ = 0;
  int64_t started_ = 0;  // when the node that fires began, if somebody watches

  // Kernels that have not been seen to have called back. Who calls back needs no memory: what is
  // done is linked through itself, the last one first.
  std::list<AsyncCall> async_calls_;
  std::mutex async_mutex_;
  std::condition_variable async_changed_;
  AsyncCall* async_done_ = nullptr;  // guarded by async_mutex_
};

}  // namespace gyre::reference
