#include "analysis/collectives.h"

#include <string>
#include <vector>

#include "base/hash_map.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ops/collective/group.h"

namespace gyre {

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

}  // namespace gyre
