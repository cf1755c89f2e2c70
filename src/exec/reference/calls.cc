// If, Case, While, For and calls: start a function, and go on when it has ended. Nothing here
// recurses.
#include "ir/calls.h"

#include <iterator>

#include "analysis/function_copies.h"
#include "exec/reference/machine.h"
#include "ops/control/condition.h"
#include "ops/control/for_trip_count.h"

namespace gyre::reference {
namespace {

const NodePlan& StructuredPlan(const Ready& structured) {
  return structured.iteration->frame->activation->plan->nodes[structured.node];
}

}  // namespace

void Machine::StartCall(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs) {
  auto call = std::make_unique<PendingCall>();
  call->ready = ready;
  call->started = started_;
  if (IsLoop(p.kind)) return StartLoop(ready, p, std::move(inputs));
  if (IsConditional(p.kind)) {
    const absl::StatusOr<int> chosen =
        ChosenFunction(SelectorOf(*p.node), inputs[0], static_cast<int>(p.callees.size()));
    if (!chosen.ok()) return Fail(chosen.status(), ready);
    call->callee = *chosen;
  }
  inputs.erase(inputs.begin(), inputs.begin() + NumSelectorInputs(*p.node));
  const FunctionPlan& callee = *p.callees[call->callee];
  StartActivation(callee, std::move(inputs), std::move(call));
}

void Machine::StartLoop(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs) {
  auto call = std::make_unique<PendingCall>();
  call->ready = ready;
  call->started = started_;
  if (HasCondition(*p.node)) {
    call->values = std::move(inputs);
    std::vector<Tensor> args = call->values;
    return StartActivation(*p.callees[0], std::move(args), std::move(call));
  }
  const absl::StatusOr<int64_t> iterations = CountIterations(inputs[0], inputs[1], inputs[2]);
  if (!iterations.ok()) return Fail(iterations.status(), ready);
  call->iterations = *iterations;
  call->start = inputs[0].scalar<int32_t>();
  call->delta = inputs[2].scalar<int32_t>();
  inputs.erase(inputs.begin(), inputs.begin() + NumSelectorInputs(*p.node));
  StepFor(std::move(call), std::move(inputs));
}

void Machine::StartActivation(const FunctionPlan& plan, std::vector<Tensor> args,
                              std::unique_ptr<PendingCall> caller) {
  const Ready where = caller == nullptr ? Ready() : caller->ready;
  if (!plan.error.ok()) return Fail(plan.error, where);
  const size_t bytes = kActivationBytes + kFrameBytes + 2 * args.size() * sizeof(Tensor);
  if (!Charge(bytes, where)) return;
  Activation* const activation = &activations_.emplace_back();
  activation->self = std::prev(activations_.end());
  activation->charged = bytes;
  activation->plan = &plan;
  activation->args = std::move(args);
  activation->results.resize(plan.num_results);
  LoopFrame& root = activation->frames.emplace_back();
  root.self = activation->frames.begin();
  root.plan = &plan.frames[0];
  root.activation = activation;
  if (caller != nullptr) {
    root.id = CalleeFrameId(*caller);
    root.base_iteration = caller->iteration;
  }
  activation->caller = std::move(caller);
  for (const auto& [feed, position] : plan.fed_results)
    activation->results[position] = feeds_[feed];
  ++activation->live_ops;  // keeps it open while its first nodes are found
  NewIteration(root);
  if (--activation->live_ops == 0) ended_.push_back(activation);
}

// A loop's frame is named after its node alone, so that all iterations share it; a callee after
// itself as well, so that two functions called from one node draw different random numbers.
uint64_t Machine::CalleeFrameId(const PendingCall& call) const {
  const LoopFrame& frame = *call.ready.iteration->frame;
  const NodePlan& p = StructuredPlan(call.ready);
  return ChildFrameId({frame.id, call.ready.iteration->number},
                      CalleeFrameName(*p.node, *p.callees[call.callee]->function));
}

void Machine::EndActivation(Activation* activation) {
  std::vector<Tensor> results = std::move(activation->results);
  std::unique_ptr<PendingCall> call = std::move(activation->caller);
  const Function& function = *activation->plan->function;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].has_value()) continue;
    const std::string name =
        i < function.results.size() ? function.results[i].name : absl::StrCat(i);
    Fail(absl::InvalidArgumentError(absl::StrCat(
             "Retval[", i, "] does not have value",
             call == nullptr
                 ? ": what is fetched lies on a path that was not taken, or was never reached"
                 : absl::StrCat(": result ", name, " of function ", function.name,
                                " lies on a path that was not taken"))),
         call == nullptr ? Ready() : call->ready);
    return;
  }
  FreeActivation(activation);
  if (call == nullptr) {
    results_ = std::move(results);
    return;
  }
  const NodePlan& p = StructuredPlan(call->ready);
  if (!IsLoop(p.kind)) return FinishCall(*call, std::move(results));
  if (HasCondition(*p.node)) return StepWhile(std::move(call), std::move(results));
  ++call->iteration;
  StepFor(std::move(call), std::move(results));
}

void Machine::StepWhile(std::unique_ptr<PendingCall> call, std::vector<Tensor> results) {
  const NodePlan& p = StructuredPlan(call->ready);
  if (call->callee == 0) {  // the condition has been computed
    const absl::StatusOr<bool> goes_on = Truth(results[0]);
    if (!goes_on.ok()) return Fail(goes_on.status(), call->ready);
    if (!*goes_on) return FinishCall(*call, std::move(call->values));
    call->callee = 1;
    std::vector<Tensor> values = std::move(call->values);
    return StartActivation(*p.callees[1], std::move(values), std::move(call));
  }
  ++call->iteration;
  call->callee = 0;
  call->values = std::move(results);
  std::vector<Tensor> args = call->values;
  StartActivation(*p.callees[0], std::move(args), std::move(call));
}

void Machine::StepFor(std::unique_ptr<PendingCall> call, std::vector<Tensor> values) {
  if (call->iteration == call->iterations) return FinishCall(*call, std::move(values));
  const int64_t counter = call->start + call->iteration * call->delta;
  values.insert(values.begin(), Tensor::Scalar<int32_t>(static_cast<int32_t>(counter)));
  const FunctionPlan& body = *StructuredPlan(call->ready).callees[0];
  StartActivation(body, std::move(values), std::move(call));
}

void Machine::FinishCall(const PendingCall& call, std::vector<Tensor> outputs) {
  started_ = call.started;
  Finish(call.ready, std::move(outputs), false);
}

void Machine::FreeActivation(Activation* activation) {
  // Iterations stay charged: they are kept for the next call.
  Release(activation->charged + (activation->frames.size() - 1) * kFrameBytes);
  for (LoopFrame& frame : activation->frames) {
    for (IterationPtr& iteration : frame.live) Recycle(std::move(iteration));
  }
  activations_.erase(activation->self);
}

}  // namespace gyre::reference
