#include "analysis/collectives.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ops/collective/group.h"

namespace gyre {
namespace {

// What decides which functions a structured node runs, and how often; "" for a call.
std::string DeciderText(const Program& program, const Function& function, const Node& node,
                        const std::vector<Callee>& callees) {
  const std::string of = absl::StrCat(" of ", node.op_name, " node ", node.name, " decides");
  const auto predicate = [&](const Function& in, Endpoint value) {
    const Node& by = in.node(value.node);
    return absl::StrCat("\n  as predicate ", in.EndpointName(value), " (", by.op_name, ")", of,
                        by.source.empty() ? "" : absl::StrCat(", written at ", by.source));
  };
  const Selector selector = SelectorOf(node);
  const bool selects = selector == Selector::kPredicate || selector == Selector::kIndex;
  if (selects && !node.inputs.empty()) return predicate(function, node.inputs[0]);
  for (const Callee& callee : callees) {
    if (!callee.is_condition()) continue;
    const Function* const condition = program.FindFunction(callee.function.name);
    if (condition != nullptr && !condition->results.empty())
      return predicate(*condition, condition->results[0].value);
  }
  return selector == Selector::kBounds ? absl::StrCat("\n  as the number of iterations", of) : "";
}

}  // namespace

bool HoldsCollectives(const Program& program, const RunSignature& signature) {
  HashSet<std::string> seen;
  std::vector<const Function*> called;
  const auto holds = [&](const Function& function, const std::vector<bool>* needed) {
    for (const Node& node : function.nodes) {
      SpendWork();
      if (needed != nullptr && !(*needed)[node.id]) continue;
      if (IsCollective(node.op_name)) return true;
      for (const Callee& callee : CalleesOf(program, node)) {
        const Function* const next = program.FindFunction(callee.function.name);
        if (next != nullptr && seen.insert(callee.function.name).second) called.push_back(next);
      }
    }
    return false;
  };
  const std::vector<bool> needed = NeededNodes(program.main(), signature);
  if (holds(program.main(), &needed)) return true;
  while (!called.empty()) {
    const Function* const function = called.back();
    called.pop_back();
    if (holds(*function, nullptr)) return true;
  }
  return false;
}

std::map<std::string, std::string> DecidersOfCollectives(const Program& program) {
  struct Called {
    const Function* function = nullptr;
    std::string deciders;
  };
  std::map<std::string, std::string> found;
  std::vector<Called> all = {{&program.main(), ""}};
  HashSet<std::string> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    const Called here = all[i];
    for (const Node& node : here.function->nodes) {
      SpendWork();
      if (IsCollective(node.op_name) && !here.deciders.empty())
        found.emplace(node.name, here.deciders);
      const std::vector<Callee> callees = CalleesOf(program, node);
      if (callees.empty()) continue;
      const std::string deciders =
          absl::StrCat(DeciderText(program, *here.function, node, callees), here.deciders);
      for (const Callee& callee : callees) {
        const Function* const next = program.FindFunction(callee.function.name);
        if (next != nullptr && seen.insert(callee.function.name).second)
          all.push_back({next, deciders});
      }
    }
  }
  return found;
}

}  // namespace gyre
