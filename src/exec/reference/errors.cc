// Where an error happened, in the user's words: node, iterations, branches and calls, innermost
// first.
#include "exec/reference/machine.h"
#include "ir/where.h"

namespace gyre::reference {
namespace {

// Deep recursion and nesting would print for ever.
constexpr int kMaxLoopsShown = 16;

std::string LoopText(const Iteration& iteration) {
  std::string text;
  int shown = 0;
  for (const Iteration* i = &iteration; i != nullptr && i->frame->parent != nullptr;
       i = i->frame->parent_iteration) {
    if (++shown > kMaxLoopsShown) return absl::StrCat(text, "\n  … and in the loops around that");
    absl::StrAppend(&text, "\n  in iteration ", i->number, " of loop \"",
                    i->frame->plan->frame.name, "\"");
  }
  return text;
}

}  // namespace

std::string Machine::Locate(const Ready& where) const {
  if (where.iteration == nullptr) return "";
  std::string text;
  if (where.node >= 0) {
    const FunctionPlan& plan = *where.iteration->frame->activation->plan;
    absl::StrAppend(&text, NodeText(*plan.nodes[where.node].node));
  }
  const Iteration* iteration = where.iteration;
  for (int shown = 0;; ++shown) {
    absl::StrAppend(&text, LoopText(*iteration));
    const PendingCall* call = iteration->frame->activation->caller.get();
    if (call == nullptr) return text;
    if (shown == kMaxCallsShown) return absl::StrCat(text, kMoreCalls);
    const NodePlan& p = call->ready.iteration->frame->activation->plan->nodes[call->ready.node];
    absl::StrAppend(&text, CallText(*p.node, call->callee, *p.callees[call->callee]->function,
                                    call->iteration));
    iteration = call->ready.iteration;
  }
}

}  // namespace gyre::reference
