#include "passes/for_results.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/effects.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::Rewrite;
using Bits = std::vector<bool>;

// What a run of a function needs.
struct Needs {
  std::vector<bool> nodes;
  std::vector<Bits> outputs;  // by node
};

Needs NeedsOf(const Function& function, const RunSignature& signature) {
  Needs needs{NeededNodes(function, signature), {}};
  for (const Node& node : function.nodes)
    needs.outputs.emplace_back(static_cast<size_t>(node.num_outputs()), false);
  const auto all = [&](NodeId id) { needs.outputs[id].assign(needs.outputs[id].size(), true); };
  for (const Endpoint& e : signature.fetches) needs.outputs[e.node][e.slot] = true;
  for (const NodeId id : signature.targets) all(id);
  for (const Node& node : function.nodes) {
    if (!needs.nodes[node.id]) continue;
    SpendWork();
    for (const Endpoint& e : node.inputs) needs.outputs[e.node][e.slot] = true;
    for (const NodeId id : node.control_inputs) all(id);
  }
  return needs;
}

// A value that nobody looks at can be left out.
bool HasStandIn(DType dtype) { return IsTrivial(dtype) || dtype == DType::kString; }

Tensor StandIn(DType dtype) {
  if (dtype == DType::kString) return Tensor::Scalar(std::string());
  return *Tensor::Zeros(dtype, Shape(), {});
}

// What runs a function.
enum class Kind : uint8_t { kBranch, kLoop, kCall };

class ForResults {
 public:
  explicit ForResults(const Staged& staged) : effects_(*staged.program), edit_(staged) {}

  absl::StatusOr<Staged> Run() && {
    Rewrite main = edit_.Change("");
    const RunSignature signature = edit_.run();
    GYRE_RETURN_IF_ERROR(NarrowNodes(NeedsOf(edit_.main(), signature), main));
    GYRE_RETURN_IF_ERROR(edit_.Take("", std::move(main)));
    return std::move(edit_).Finish();
  }

 private:
  static bool RunsForResults(const Node& node) {
    const OpKind kind = node.kind();
    return (IsConditional(kind) || (IsLoop(kind) && HasCondition(node))) &&
           node.attrs.GetOr<bool>(std::string(kForResultsAttr), false);
  }

  // Whether such a node is in the function, or in one that it calls.
  bool Holds(const std::string& name) {
    const auto [found, is_new] = holds_.try_emplace(name, false);
    const Function* function = is_new ? edit_.Find(name) : nullptr;
    if (function == nullptr) return found->second;
    bool holds = false;
    for (const Node& node : function->nodes) holds = holds || RunsForResults(node) || Calls(node);
    return holds_[name] = holds;
  }

  // A call of a function that holds one.
  bool Calls(const Node& node) {
    if (node.kind() != OpKind::kCall || node.op == nullptr) return false;
    const std::vector<Callee> callees = CalleesOf(edit_.program(), node);
    return std::any_of(callees.begin(), callees.end(),
                       [this](const Callee& callee) { return Holds(callee.function.name); });
  }

  bool IsToNarrow(const Node& node) {
    return (RunsForResults(node) || Calls(node)) && !effects_.Of(node).MayDrop();
  }

  absl::Status NarrowNodes(const Needs& needs, Rewrite& rewrite) {
    for (NodeId id = 0; id < rewrite.num_old_nodes(); ++id) {
      if (needs.nodes[id] && IsToNarrow(rewrite.node(id)))
        GYRE_RETURN_IF_ERROR(Narrow(needs.outputs[id], rewrite.Edit(id)));
    }
    return absl::OkStatus();
  }

  absl::Status Narrow(Bits outputs, Node& node) {
    const Kind kind = IsLoop(node.kind())          ? Kind::kLoop
                      : IsConditional(node.kind()) ? Kind::kBranch
                                                   : Kind::kCall;
    for (int i = 0; i < node.num_outputs(); ++i)
      outputs[i] =
          outputs[i] || kind == Kind::kCall || !HasStandIn(node.signature.outputs[i].dtype);
    const std::vector<Callee> callees = CalleesOf(edit_.program(), node);
    if (kind == Kind::kLoop) FindLoopVariables(callees, outputs);
    std::map<std::string, std::string> names;
    for (const Callee& callee : callees) {
      if (callee.function.attrs != nullptr && !callee.function.attrs->empty())
        return absl::OkStatus();
      const Bits results = callee.is_condition() ? Bits{true} : outputs;
      GYRE_ASSIGN_OR_RETURN(names[callee.function.name],
                            Narrowed(callee.function.name, results, kind));
    }
    for (const auto& [key, value] : AttrMap(node.attrs)) {
      if (const auto* one = std::get_if<FunctionRef>(&value)) {
        node.attrs.Set(key, FunctionRef{names.at(one->name), nullptr});
      } else if (const auto* many = std::get_if<std::vector<FunctionRef>>(&value)) {
        std::vector<FunctionRef> refs;
        for (const FunctionRef& ref : *many) refs.push_back({names.at(ref.name), nullptr});
        node.attrs.Set(key, std::move(refs));
      }
    }
    return absl::OkStatus();
  }

  // Of a loop, what its condition asks for, and what an iteration needs of the one before.
  void FindLoopVariables(const std::vector<Callee>& callees, Bits& variables) const {
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const Callee& callee : callees) {
        const Function* function = edit_.Find(callee.function.name);
        if (function == nullptr) continue;
        const Needs needs = NeedsOf(
            *function, SignatureOf(*function, callee.is_condition() ? Bits{true} : variables));
        for (size_t i = 0; i < std::min(variables.size(), function->arg_nodes.size()); ++i) {
          if (variables[i] || !needs.outputs[function->arg_nodes[i]][0]) continue;
          variables[i] = is_new = true;
        }
      }
    }
  }

  static RunSignature SignatureOf(const Function& function, const Bits& results) {
    RunSignature signature;
    for (size_t i = 0; i < function.results.size(); ++i) {
      if (i >= results.size() || results[i]) signature.fetches.push_back(function.results[i].value);
    }
    for (const auto& [name, id] : function.control_results) signature.targets.push_back(id);
    return signature;
  }

  // Of a call: what it does happens, save in such nodes.
  static RunSignature SignatureOfCall(const Function& function) {
    RunSignature signature = CallSignature(function);
    std::erase_if(signature.targets, [&](NodeId id) { return RunsForResults(function.node(id)); });
    return signature;
  }

  // The name of the function without what these results do not need. `kind`: of who runs it.
  absl::StatusOr<std::string> Narrowed(const std::string& name, const Bits& results, Kind kind) {
    const auto [made, is_new] = made_.try_emplace({name, results, kind});
    if (!is_new) return made->second;
    const Function* found = edit_.Find(name);
    if (found == nullptr) return made->second = name;  // an error of whoever runs it
    Function function = *found;
    const Needs needs = NeedsOf(
        function, kind == Kind::kCall ? SignatureOfCall(function) : SignatureOf(function, results));
    function.name = edit_.UniqueFunctionName(name);
    std::string& made_name = made->second = function.name;
    Rewrite rewrite(edit_.ops(), std::move(function));
    GYRE_RETURN_IF_ERROR(NarrowNodes(needs, rewrite));
    ReplaceResults(results, kind == Kind::kLoop, rewrite);
    for (NodeId id = 0; id < rewrite.num_old_nodes(); ++id) {
      if (!needs.nodes[id] && rewrite.node(id).kind() != OpKind::kArg) rewrite.Drop(id, {});
    }
    GYRE_ASSIGN_OR_RETURN(Rewrite::Finished finished, std::move(rewrite).Finish());
    edit_.SetFunction(std::move(finished.function));
    return made_name;
  }

  // What nobody needs: of a loop as it was, else anything.
  static void ReplaceResults(const Bits& results, bool is_loop, Rewrite& rewrite) {
    for (size_t i = 0; i < results.size() && i < rewrite.function().results.size(); ++i) {
      if (results[i]) continue;
      const Endpoint other = is_loop
                                 ? Endpoint{rewrite.function().arg_nodes[i], 0}
                                 : rewrite.AddConstant(StandIn(rewrite.function().results[i].dtype),
                                                       {.name = "unused"});
      rewrite.EditInterface().results[i].value = other;
    }
  }

  const Effects effects_;
  passes::StagedEdit edit_;
  std::map<std::string, bool> holds_;
  std::map<std::tuple<std::string, Bits, Kind>, std::string> made_;
};

}  // namespace

absl::StatusOr<Staged> ForResultsPass(const Staged& staged) { return ForResults(staged).Run(); }

}  // namespace gyre
