#include "analysis/refusals.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/calls.h"

namespace gyre {
namespace {

std::string NodeText(const Node& node) {
  return absl::StrCat("node ", node.name, " (", node.op_name, ")");
}

}  // namespace

absl::Status UnregisteredOp(const Node& node) {
  return absl::NotFoundError(absl::StrCat(
      "node ", node.name, " needs the op ", node.op_name,
      ", which is not registered: load the plug-in that has it (--plugin FILE, load_plugin)"));
}

absl::Status CheckCallees(const Program& program, const Node& node) {
  const std::vector<Callee> callees = CalleesOf(program, node);
  if (IsConditional(node.kind()) && callees.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(NodeText(node), " has no branches"));
  }
  for (const Callee& callee : callees) {
    const Function* function = program.FindFunction(callee.function.name);
    if (function == nullptr) {
      return absl::NotFoundError(absl::StrCat(NodeText(node), ": function ", callee.function.name,
                                              " is not in the graph's library"));
    }
    GYRE_RETURN_IF_ERROR(Annotate(CheckArguments(node, callee, *function), NodeText(node)));
    GYRE_RETURN_IF_ERROR(Annotate(CheckResults(node, callee, *function), NodeText(node)));
  }
  return absl::OkStatus();
}

absl::Status FetchInLoop(absl::string_view fetch, absl::string_view frame) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot fetch ", fetch, ": it lives in loop frame \"", frame,
                   "\" and has a value per iteration. Fetch what an Exit hands out of the loop, or "
                   "watch what it "
                   "is in each iteration (gyre run --fetch-each, IterationValues)"));
}

}  // namespace gyre
