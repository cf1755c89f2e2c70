#include "passes/pass_through.h"

#include <string>
#include <utility>
#include <vector>

#include "analysis/pass_through.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "passes/edit/body.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;
using passes::StagedEdit;

// The input that output `slot` of `structured` always equals; -1: there is none.
int PassedInput(const StagedEdit& edit, const Node& structured, int slot) {
  int passed = -1;
  for (const Callee& callee : CalleesOf(edit.program(), structured)) {
    if (callee.is_condition()) continue;
    const Function& function = *edit.Find(callee.function.name);
    const int argument = ArgumentOf(function, function.results[slot].value);
    if (argument < 0 || (passed >= 0 && argument != passed)) return -1;
    passed = argument;
  }
  if (passed < 0 || (IsLoop(structured.kind()) && passed != slot + NumCounterArgs(structured)))
    return -1;
  return InputOfArg(structured, passed);
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

void PassThrough(const StagedEdit& edit, const Staged& staged, const BodyFacts& body,
                 Rewrite& rewrite) {
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
    const BodyFacts body = passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds);
    PassThrough(edit, staged, body, rewrite);
    GYRE_RETURN_IF_ERROR(edit.Take(name, std::move(rewrite)));
  }
  return std::move(edit).Finish();
}

}  // namespace gyre
