// Where values and deadness go: the rules of docs/semantics.md, "Tokens", one method each.
#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "exec/reference/machine.h"
#include "ops/state/variable.h"

namespace gyre::reference {
namespace {

const NodePlan& PlanOf(const Iteration& iteration, NodeId node) {
  return iteration.frame->activation->plan->nodes[node];
}

// A live node of these kinds may leave outputs without a value.
bool MayLeaveOutputs(OpKind kind) {
  return kind == OpKind::kSwitch || kind == OpKind::kSwitchN || kind == OpKind::kMerge ||
         kind == OpKind::kTransfer;
}

// What a kernel must have done: a value of the right type in every output.
absl::Status CheckOutputs(const NodePlan& p, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].has_value()) {
      if (MayLeaveOutputs(p.kind)) continue;
      return BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is missing"));
    }
    const NodeSignature::Slot& slot = p.node->signature.outputs[i];
    if (outputs[i].dtype() != slot.dtype) {
      return BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is ",
                                   DTypeName(outputs[i].dtype()), ", not ", DTypeName(slot.dtype)));
    }
  }
  return absl::OkStatus();
}

// Who fetches a reference, or a value that is still one, gets what the variable holds now.
absl::Status KeepFetched(const NodePlan& p, const std::vector<Tensor>& outputs,
                         Activation& activation) {
  for (const auto& [slot, position] : p.fetched) {
    Tensor& result = activation.results[position];
    const bool wants_ref = p.node->signature.outputs[slot].is_ref && activation.caller != nullptr;
    if (outputs[slot].is_ref() && !wants_ref) {
      GYRE_ASSIGN_OR_RETURN(result, ReadRef(outputs[slot]));
    } else {
      result = outputs[slot];
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Machine::Finish(const Ready& ready, std::vector<Tensor> outputs, bool dead) {
  Iteration& iteration = *ready.iteration;
  const NodePlan& p = PlanOf(iteration, ready.node);
  if (!dead) {
    if (absl::Status status = CheckOutputs(p, outputs); !status.ok()) return Fail(status, ready);
    if (hooks_.observer != nullptr) {
      if (absl::Status status = Observe(ready, p, outputs); !status.ok())
        return Fail(status, ready);
    }
    if (absl::Status status = KeepFetched(p, outputs, *iteration.frame->activation); !status.ok()) {
      return Fail(status, ready);
    }
  }
  Propagate(ready, p, outputs, dead);
  outputs.clear();
  Retire(iteration);
}

void Machine::Propagate(const Ready& ready, const NodePlan& p, std::vector<Tensor>& outputs,
                        bool dead) {
  Iteration& iteration = *ready.iteration;
  switch (p.kind) {
    case OpKind::kEnter:
      return PropagateEnter(iteration, p, outputs, dead);
    case OpKind::kExit:
      return PropagateExit(ready, p, outputs, dead);
    case OpKind::kNextIteration:
      if (!dead) PropagateNextIteration(iteration, p, std::move(outputs[0]));
      return;
    case OpKind::kLoopCond:
      if (ready.node == iteration.frame->plan->frame.loop_cond)
        OpenGate(iteration, !dead && outputs[0].scalar<bool>());
      break;
    default:
      break;
  }
  Deliver(iteration, p, absl::MakeSpan(outputs), dead);
}

// A loop hands out each value once. An Exit that is alive in two iterations would run its readers
// again with what is left of the first time.
void Machine::PropagateExit(const Ready& ready, const NodePlan& p, std::vector<Tensor>& outputs,
                            bool dead) {
  LoopFrame& frame = *ready.iteration->frame;
  if (dead) {
    if (ready.iteration->number == frame.highest) frame.dead_exits.push_back(ready.node);
    return;
  }
  if (absl::c_linear_search(frame.live_exits, ready.node)) {
    return Fail(absl::InvalidArgumentError(
                    "the loop hands out this value in more than one iteration: an Exit must follow "
                    "the side of its Switch that is taken when the loop ends"),
                ready);
  }
  frame.live_exits.push_back(ready.node);
  Deliver(*frame.parent_iteration, p, absl::MakeSpan(outputs), false);
}

// Nodes of a loop's body whose inputs are all fed have nothing to wait for but the decision that
// the body runs.
void Machine::OpenGate(Iteration& iteration, bool alive) {
  alive &= iteration.frame->entered;  // a loop on a path not taken runs nothing, fed or not
  for (const NodeId node : iteration.frame->plan->gated_roots) Schedule(iteration, node, !alive);
}

void Machine::PropagateEnter(Iteration& from, const NodePlan& p, std::vector<Tensor>& outputs,
                             bool dead) {
  const int child_index = from.frame->activation->plan->frames[p.out_frame].child_index;
  LoopFrame* child = from.children[child_index];
  if (child == nullptr) child = OpenFrame(from, p.out_frame, {&from, p.node->id, dead});
  if (child == nullptr) return;  // failed
  child->entered |= !dead;
  if (p.is_constant) {
    child->invariants.push_back({p.node->id, outputs[0]});
    for (const IterationPtr& iteration : child->live) {
      std::vector<Tensor> copy = outputs;
      Deliver(*iteration, p, absl::MakeSpan(copy), dead);
    }
  } else {
    Deliver(*child->live.front(), p, absl::MakeSpan(outputs), dead);
  }
  --child->pending_enters;
  CleanUp(child);
}

void Machine::PropagateNextIteration(Iteration& from, const NodePlan& p, Tensor value) {
  LoopFrame& frame = *from.frame;
  Iteration* next = nullptr;
  if (from.number < frame.highest) {
    next = frame.live[from.number + 1 - frame.live.front()->number].get();
  } else {
    int64_t window = frame.plan->frame.parallel_iterations;
    if (window_ > 0) window = std::min<int64_t>(window, window_);
    if (static_cast<int64_t>(frame.live.size()) >= window) {
      frame.waiting.push_back({p.node->id, std::move(value)});
      return;
    }
    next = NewIteration(frame);
  }
  if (next != nullptr) Deliver(*next, p, absl::MakeSpan(&value, 1), false);
}

void Machine::Deliver(Iteration& to, const NodePlan& p, absl::Span<Tensor> outputs, bool dead) {
  for (size_t slot = 0; slot < p.data_out.size(); ++slot) {
    const std::vector<DataEdge>& edges = p.data_out[slot];
    for (size_t i = 0; i < edges.size(); ++i) {
      const bool last = i + 1 == edges.size();  // the last reader may own the value
      DeliverData(to, edges[i], last ? std::move(outputs[slot]) : outputs[slot]);
    }
  }
  for (const NodeId dst : p.control_out) DeliverControl(to, dst, dead);
}

void Machine::DeliverData(Iteration& to, DataEdge edge, Tensor value) {
  const NodePlan& p = PlanOf(to, edge.dst);
  Counts& counts = to.counts[p.index];
  const bool dead = !value.has_value();
  if (p.kind == OpKind::kMerge) {
    if (counts.started) return;
    if (dead) {
      ++counts.dead;
    } else if (!counts.live) {  // the first live input counts
      counts.live = true;
      to.inputs[p.first_input + edge.dst_slot] = std::move(value);
    }
    if (counts.pending > 0) return;
    if (counts.live) return Schedule(to, edge.dst, false);
    if (p.dead_to_die > 0 && counts.dead >= p.dead_to_die) Schedule(to, edge.dst, true);
    return;
  }
  if (dead) {
    ++counts.dead;
  } else {
    to.inputs[p.first_input + edge.dst_slot] = std::move(value);
  }
  if (--counts.pending == 0)
    Schedule(to, edge.dst, counts.dead > 0 && p.kind != OpKind::kControlTrigger);
}

void Machine::DeliverControl(Iteration& to, NodeId dst, bool dead) {
  const NodePlan& p = PlanOf(to, dst);
  Counts& counts = to.counts[p.index];
  if (--counts.pending > 0) {
    if (dead && p.kind != OpKind::kMerge) ++counts.dead;
    return;
  }
  if (p.kind ==
      OpKind::kMerge) {  // a dead control input does not kill a Merge: it has arrived, that's all
    if (counts.live) {
      Schedule(to, dst, false);
    } else if (p.dead_to_die > 0 && counts.dead >= p.dead_to_die) {
      Schedule(to, dst, true);
    }
    return;
  }
  counts.dead += dead ? 1 : 0;
  Schedule(to, dst, counts.dead > 0 && p.kind != OpKind::kControlTrigger);
}

void Machine::Schedule(Iteration& iteration, NodeId node, bool dead) {
  Counts& counts = iteration.counts[PlanOf(iteration, node).index];
  if (counts.started) return;
  counts.started = true;
  ++iteration.outstanding_ops;
  ++iteration.frame->activation->live_ops;
  batch_.push_back({&iteration, node, dead});
}

void Machine::Retire(Iteration& iteration) {
  LoopFrame* frame = iteration.frame;
  Activation* activation = frame->activation;
  --iteration.outstanding_ops;
  if (frame->parent != nullptr && iteration.outstanding_ops == 0) CleanUp(frame);
  if (--activation->live_ops == 0) ended_.push_back(activation);
}

LoopFrame* Machine::OpenFrame(Iteration& parent, int frame_index, const Ready& where) {
  Activation& activation = *parent.frame->activation;
  const FramePlan& plan = activation.plan->frames[frame_index];
  if (!Charge(kFrameBytes, where)) return nullptr;
  LoopFrame* const frame = &activation.frames.emplace_back();
  frame->self = std::prev(activation.frames.end());
  frame->plan = &plan;
  frame->activation = &activation;
  frame->parent = parent.frame;
  frame->parent_iteration = &parent;
  frame->id = ChildFrameId({parent.frame->id, parent.number}, plan.frame.name);
  frame->pending_enters = plan.num_enters;
  parent.children[plan.child_index] = frame;
  ++parent.outstanding_frames;
  return NewIteration(*frame) == nullptr ? nullptr : frame;
}

Iteration* Machine::NewIteration(LoopFrame& frame) {
  IterationPtr made = MakeIteration(frame);
  if (made == nullptr) return nullptr;
  Iteration* const iteration = made.get();
  iteration->number = frame.base_iteration + ++frame.highest;
  frame.live.push_back(std::move(made));
  frame.dead_exits.clear();
  const FunctionPlan& plan = *frame.activation->plan;
  for (const FedInput& fed : frame.plan->fed) {
    const NodePlan& p = plan.nodes[fed.node];
    if (p.kind == OpKind::kMerge) {
      DeliverData(*iteration, {fed.node, fed.slot}, feeds_[fed.feed]);
    } else {
      iteration->inputs[p.first_input + fed.slot] = feeds_[fed.feed];
    }
  }
  for (const NodeId root : frame.plan->roots) Schedule(*iteration, root, false);
  for (Token& token : std::exchange(frame.waiting, {})) {
    Deliver(*iteration, plan.nodes[token.source], absl::MakeSpan(&token.value, 1), false);
  }
  for (const Token& token : frame.invariants) {
    Tensor copy = token.value;
    Deliver(*iteration, plan.nodes[token.source], absl::MakeSpan(&copy, 1),
            !token.value.has_value());
  }
  return iteration;
}

// Ends the iterations that are done, oldest first, then the frame, then perhaps the frame around
// it.
void Machine::CleanUp(LoopFrame* frame) {
  while (frame->parent != nullptr) {
    while (!frame->live.empty()) {
      const Iteration* oldest = frame->live.front().get();
      const bool entered = oldest->number > 0 || frame->pending_enters == 0;
      if (oldest->outstanding_ops > 0 || oldest->outstanding_frames > 0 || !entered) return;
      // Values held back go on before the frame can look empty.
      if (!frame->waiting.empty() && NewIteration(*frame) == nullptr) return;
      Recycle(std::move(frame->live.front()));
      frame->live.pop_front();
    }
    if (frame->pending_enters > 0) return;
    LoopFrame* parent = frame->parent;
    CloseFrame(frame);
    frame = parent;
  }
}

void Machine::CloseFrame(LoopFrame* frame) {
  Iteration& outside = *frame->parent_iteration;
  const FunctionPlan& plan = *frame->activation->plan;
  for (const NodeId exit : frame->dead_exits) {
    Tensor none;
    Deliver(outside, plan.nodes[exit], absl::MakeSpan(&none, 1), true);
  }
  --outside.outstanding_frames;
  outside.children[frame->plan->child_index] = nullptr;
  frame->activation->frames.erase(frame->self);
  Release(kFrameBytes);
}

IterationPtr Machine::MakeIteration(LoopFrame& frame) {
  const FramePlan& plan = *frame.plan;
  std::vector<IterationPtr>& spare = spare_iterations_[&plan];
  IterationPtr iteration;
  if (!spare.empty()) {
    iteration = std::move(spare.back());
    spare.pop_back();
  } else {
    const size_t bytes = sizeof(Iteration) + plan.initial.size() * sizeof(Counts) +
                         static_cast<size_t>(plan.num_inputs) * sizeof(Tensor);
    if (!Charge(bytes, frame.parent_iteration == nullptr
                           ? Ready()
                           : Ready{frame.parent_iteration, -1, false})) {
      return nullptr;
    }
    iteration = std::make_unique<Iteration>();
    iteration->inputs.resize(plan.num_inputs);
    iteration->children.resize(plan.num_children);
  }
  iteration->frame = &frame;
  iteration->counts = plan.initial;
  return iteration;
}

void Machine::Recycle(IterationPtr iteration) {
  std::fill(iteration->inputs.begin(), iteration->inputs.end(), Tensor());
  std::fill(iteration->children.begin(), iteration->children.end(), nullptr);
  iteration->outstanding_ops = 0;
  iteration->outstanding_frames = 0;
  std::vector<IterationPtr>& spare = spare_iterations_[iteration->frame->plan];
  spare.push_back(std::move(iteration));
}

}  // namespace gyre::reference
