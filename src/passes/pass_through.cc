#include "passes/pass_through.h"

#include <string>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "passes/edit/body.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::Body;
using passes::Rewrite;
using passes::StagedEdit;

// Which argument result `result` is; -1: it is none.
int PassedArgument(const Function& function, int result) {
  const Node& node = function.node(function.results[result].value.node);
  if (node.kind() != OpKind::kArg) return -1;
  return static_cast<int>(node.attrs.GetOr<int64_t>("index", -1));
}

// The input that output `slot` of `site` always equals; -1: there is none.
int PassedInput(const StagedEdit& edit, const Node& site, int slot) {
  const std::vector<Callee> callees = CalleesOf(edit.program(), site);
  int passed = -1;
  for (const Callee& callee : callees) {
    if (callee.role == "cond") continue;
    const int argument = PassedArgument(*edit.Find(callee.function.name), slot);
    if (argument < 0 || (passed >= 0 && argument != passed)) return -1;
    passed = argument;
  }
  if (site.kind() == OpKind::kFor) --passed;  // the first argument is the loop's index
  const bool is_loop = site.kind() == OpKind::kFor || site.kind() == OpKind::kWhile;
  if (passed < 0 || (is_loop && passed != slot)) return -1;
  return passed + NumSelectorInputs(site);
}

// Values that somebody reads, or may want to have later.
HashSet<Endpoint> WantedValues(const Rewrite& rewrite, const Staged& staged) {
  const Function& function = rewrite.function();
  HashSet<Endpoint> wanted;
  for (const Node& node : function.nodes) wanted.insert(node.inputs.begin(), node.inputs.end());
  for (const FunctionResult& result : function.results) wanted.insert(result.value);
  if (!function.name.empty()) return wanted;
  for (const Endpoint& fetch : staged.signature.fetches) wanted.insert(fetch);
  for (const auto& [imported, now] : staged.values) wanted.insert(now);
  return wanted;
}

void PassThrough(const StagedEdit& edit, const Staged& staged, const Body& body, Rewrite& rewrite) {
  const HashSet<Endpoint> wanted = WantedValues(rewrite, staged);
  for (const NodeId id : body.order) {
    SpendWork();
    const Node& node = rewrite.node(id);
    if (!IsStructured(node.kind()) || body.is_fixed[id] || body.effects[id].IsOrdered() ||
        !node.control_inputs.empty()) {
      continue;
    }
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      const int input = PassedInput(edit, node, slot);
      if (input >= 0 && wanted.contains({id, slot}))
        rewrite.Replace({id, slot}, node.inputs[input]);
    }
  }
}

}  // namespace

absl::StatusOr<Staged> PassThroughPass(const Staged& staged) {
  const Effects effects(*staged.program);
  StagedEdit edit(staged);
  // Callees first: what they pass through, their callers may.
  std::vector<std::string> names = edit.CalleesFirst();
  names.push_back("");
  for (const std::string& name : names) {
    Rewrite rewrite = edit.Change(name);
    if (IsOpaque(rewrite.function())) continue;
    const Body body = passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds);
    PassThrough(edit, staged, body, rewrite);
    GYRE_RETURN_IF_ERROR(edit.Take(name, std::move(rewrite)));
  }
  return std::move(edit).Finish();
}

}  // namespace gyre
