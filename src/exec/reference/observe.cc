// What observers and probes are told: the loops, branches and calls around a node.
#include <algorithm>

#include "base/env.h"
#include "exec/reference/machine.h"

namespace gyre::reference {
namespace {

// Deep recursion has more around it than anybody reads.
constexpr size_t kMaxShown = 64;

}  // namespace

std::vector<Surrounding> Machine::Around(const Ready& where) const {
  std::vector<Surrounding> around;
  const Iteration* iteration = where.iteration;
  while (iteration != nullptr && around.size() < kMaxShown) {
    for (; iteration->frame->parent != nullptr; iteration = iteration->frame->parent_iteration) {
      around.push_back({Surrounding::Kind::kLoop, iteration->frame->plan->frame.name, "",
                        iteration->number, iteration->frame->id});
    }
    const PendingCall* call = iteration->frame->activation->caller.get();
    if (call == nullptr) break;
    const NodePlan& p = call->ready.iteration->frame->activation->plan->nodes[call->ready.node];
    const bool is_loop = IsLoop(p.kind);
    around.push_back({SurroundingKind(*p.node, call->callee), p.node->name,
                      p.callees[call->callee]->function->name,
                      is_loop ? call->iteration : call->callee, iteration->frame->id});
    iteration = call->ready.iteration;
  }
  std::reverse(around.begin(), around.end());
  return around;
}

absl::Status Machine::Observe(const Ready& ready, const NodePlan& p,
                              absl::Span<const Tensor> outputs) const {
  const std::vector<Surrounding> around = Around(ready);
  Firing firing;
  firing.node = p.node->name;
  firing.op = p.node->op_name;
  firing.is_call = IsStructured(p.kind);
  firing.around = around;
  firing.start_nanos = started_;
  firing.end_nanos = env_.cancellation->clock().NowNanos();
  firing.outputs = outputs;
  SetMade(*p.node, firing);
  return hooks_.observer->OnFired(firing);
}

RunProgress Machine::ProgressAt(const Ready& where) const {
  RunProgress progress;
  const FunctionPlan& plan = *where.iteration->frame->activation->plan;
  progress.node = plan.nodes[where.node].node->name;
  for (const Surrounding& s : Around(where)) {
    if (s.kind == Surrounding::Kind::kBranch || s.kind == Surrounding::Kind::kCall) continue;
    progress.loops.push_back({std::string(s.name), s.iteration, s.instance});
  }
  return progress;
}

}  // namespace gyre::reference
