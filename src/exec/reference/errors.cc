// Where an error happened, in the user's words: node, iterations, branches and calls, innermost
// first.
#include "exec/reference/machine.h"

namespace gyre::reference {
namespace {

// Deep recursion and nesting would print for ever.
constexpr int kMaxCallsShown = 8;
constexpr int kMaxLoopsShown = 16;

std::string CallText(const PendingCall& call) {
  const NodePlan& p = call.site.iteration->frame->activation->plan->nodes[call.site.node];
  const std::string function =
      absl::StrCat(" (function ", p.callees[call.callee]->function->name, ")");
  const std::string of = absl::StrCat(" of ", p.node->op_name, " node ", p.node->name);
  switch (p.kind) {
    case OpKind::kIf:
      return absl::StrCat("in the ", call.callee == 0 ? "then" : "else", " branch", function, of);
    case OpKind::kCase:
      return absl::StrCat("in branch ", call.callee, function, of);
    case OpKind::kWhile:
      return absl::StrCat("in iteration ", call.trip, " of the ",
                          call.callee == 0 ? "condition" : "body", function, of);
    case OpKind::kFor:
      return absl::StrCat("in iteration ", call.trip, " of the body", function, of);
    default:
      return absl::StrCat("in function ", p.callees[call.callee]->function->name,
                          ", called by node ", p.node->name);
  }
}

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
    const Node& node = *where.iteration->frame->activation->plan->nodes[where.node].node;
    absl::StrAppend(&text, "\n  at node ", node.name, " (", node.op_name, ")");
    if (!node.source.empty()) absl::StrAppend(&text, ", written at ", node.source);
  }
  const Iteration* iteration = where.iteration;
  for (int shown = 0;; ++shown) {
    absl::StrAppend(&text, LoopText(*iteration));
    const PendingCall* call = iteration->frame->activation->caller.get();
    if (call == nullptr) return text;
    if (shown == kMaxCallsShown) return absl::StrCat(text, "\n  … and in the calls around that");
    absl::StrAppend(&text, "\n  ", CallText(*call));
    iteration = call->site.iteration;
  }
}

}  // namespace gyre::reference
