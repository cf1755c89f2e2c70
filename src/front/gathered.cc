#include "front/gathered.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/work.h"
#include "front/op_call.h"
#include "front/scope.h"
#include "ir/calls.h"

namespace gyre::internal {
namespace {

// The outputs of `node` that stand for its input `i` as it is.
bool HandsOn(const Node& node, size_t i) {
  static constexpr absl::string_view kOps[] = {"Identity", "ReadVariableOp", "Enter", "RefEnter",
                                               "Switch"};
  return i == 0 && std::find(std::begin(kOps), std::end(kOps), node.op_name) != std::end(kOps);
}

bool Gathers(const Node& node, size_t i) {
  static constexpr absl::string_view kOps[] = {"Gather", "GatherV2", "GatherNd", "ResourceGather",
                                               "ResourceGatherNd"};
  return i == 0 && std::find(std::begin(kOps), std::end(kOps), node.op_name) != std::end(kOps);
}

// Whether rows of a value are gathered, in `function` or in what its nodes call.
class Gathered {
 public:
  explicit Gathered(const Program& program) : program_(program) {}

  bool In(const Function& function, Endpoint begin) {
    std::vector<Endpoint> waiting{begin};
    while (!waiting.empty()) {
      const Endpoint value = waiting.back();
      waiting.pop_back();
      SpendWork(static_cast<int64_t>(function.nodes.size()));
      for (const Node& node : function.nodes) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          if (node.inputs[i] != value) continue;
          if (Gathers(node, i) || InCallees(node, i)) return true;
          for (int slot = 0; HandsOn(node, i) && slot < node.num_outputs(); ++slot)
            waiting.push_back({node.id, slot});
        }
      }
    }
    return false;
  }

 private:
  bool InCallees(const Node& node, size_t i) {
    const size_t first = static_cast<size_t>(NumSelectorInputs(node));
    if (i < first) return false;
    for (const Callee& callee : CalleesOf(program_, node)) {
      const Function* function = program_.FindFunction(callee.function.name);
      const size_t arg = i - first + static_cast<size_t>(NumCounterArgs(node));
      if (function == nullptr || arg >= function->arg_nodes.size()) continue;
      if (!seen_.insert({function->name, arg}).second) continue;
      if (In(*function, {function->arg_nodes[arg], 0})) return true;
    }
    return false;
  }

  const Program& program_;
  std::set<std::pair<std::string, size_t>> seen_;
};

}  // namespace

std::vector<bool> AreGathered(const std::vector<Value>& values, const std::source_location& where) {
  const ScopePtr scope = ScopeOfAll(values, where);
  std::vector<bool> found;
  for (const Value& value : values) {
    bool is_gathered = false;
    for (Scope* s = scope.get(); s != nullptr && !is_gathered;
         s = s == value.scope().get() ? nullptr : s->parent().get()) {
      const std::optional<Endpoint> here = s->Find(value);
      if (!here) continue;
      const std::shared_ptr<const Program> program = s->AsProgram();
      is_gathered = Gathered(*program).In(program->main(), *here);
    }
    found.push_back(is_gathered);
  }
  return found;
}

}  // namespace gyre::internal
