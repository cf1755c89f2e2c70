#include "passes/raise/case_chains.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "ir/builder.h"

namespace gyre::raise {
namespace {

bool IsEffectless(const Node& node) {
  return node.op != nullptr && !node.op->stateful() && node.control_inputs.empty();
}

// x, where `e` is Equal(x, key) of int32 scalars.
std::optional<Endpoint> ComparedWith(const Function& function, Endpoint e, int32_t key) {
  const Node& node = function.node(e.node);
  if (node.op_name != "Equal" || !IsEffectless(node)) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Node& constant = function.node(node.inputs[i].node);
    if (constant.kind() != OpKind::kConst || !constant.control_inputs.empty()) continue;
    const auto* value = constant.attrs.Get<Tensor>("value");
    const bool is_key = value != nullptr && value->dtype() == DType::kInt32 && value->rank() == 0 &&
                        value->scalar<int32_t>() == key;
    if (is_key) return node.inputs[1 - i];
  }
  return std::nullopt;
}

// The If that is all that `function` does: its results are the function's, and so are its effects.
const Node* OnlyIf(const Function& function) {
  const Node* found = nullptr;
  for (const Node& node : function.nodes) {
    if (node.kind() == OpKind::kIf) {
      if (found != nullptr || !node.control_inputs.empty()) return nullptr;
      found = &node;
    } else if (node.kind() != OpKind::kArg && !IsEffectless(node)) {
      return nullptr;
    }
  }
  if (found == nullptr || found->num_outputs() != static_cast<int>(function.results.size()))
    return nullptr;
  for (size_t i = 0; i < function.results.size(); ++i) {
    if (function.results[i].value != Endpoint{found->id, static_cast<int32_t>(i)}) return nullptr;
  }
  for (const auto& [name, node] : function.control_results) {
    if (node != found->id) return nullptr;
  }
  return found;
}

class Chain {
 public:
  Chain(const OpLookup& ops, std::map<std::string, int>& names,
        std::map<std::string, Function>& functions, const Node& first)
      : ops_(ops), names_(names), functions_(functions), first_(first) {}

  // The branches of the Case; none where the If is no chain.
  std::vector<std::string> Unroll(Endpoint index) {
    const auto* then_branch = first_.attrs.Get<FunctionRef>("then_branch");
    const auto* else_branch = first_.attrs.Get<FunctionRef>("else_branch");
    if (!IsOurs(then_branch) || !IsOurs(else_branch)) return {};
    std::vector<Function> branches = {functions_.at(then_branch->name)};
    Function rest = functions_.at(else_branch->name);
    gone_ = {then_branch->name, else_branch->name};
    for (int32_t key = 1;; ++key) {
      const Node* const next = OnlyIf(rest);
      if (next == nullptr || !Continues(rest, *next, index, key)) break;
      const auto* taken = next->attrs.Get<FunctionRef>("then_branch");
      const auto* left = next->attrs.Get<FunctionRef>("else_branch");
      if (!IsOurs(taken) || !IsOurs(left)) break;
      gone_.insert(gone_.end(), {taken->name, left->name});
      branches.push_back(Compose(rest, *next, functions_.at(taken->name)));
      rest = Compose(rest, *next, functions_.at(left->name));
    }
    if (branches.size() < 2) return {};
    branches.push_back(std::move(rest));
    return Store(std::move(branches));
  }

 private:
  bool IsOurs(const FunctionRef* ref) const {
    return ref != nullptr && functions_.contains(ref->name);
  }

  // `next`, in `rest`, asks whether the same index is `key`.
  bool Continues(const Function& rest, const Node& next, Endpoint index, int32_t key) const {
    const std::optional<Endpoint> compared = ComparedWith(rest, next.inputs[0], key);
    if (!compared || rest.node(compared->node).kind() != OpKind::kArg) return false;
    const int64_t arg = *rest.node(compared->node).attrs.Get<int64_t>("index");
    return first_.inputs[static_cast<size_t>(arg) + 1] == index;
  }

  // `outer` with the body of `inner`, a branch of `structured`, in place of `structured`.
  Function Compose(const Function& outer, const Node& structured, const Function& inner) {
    FunctionBuilder builder(ops_, inner.name);
    HashMap<NodeId, NodeId> outer_ids;
    for (const FunctionArg& arg : outer.args) {
      const Endpoint made = builder.Arg(arg.name, arg.dtype, arg.shape, arg.is_ref);
      outer_ids.emplace(outer.arg_nodes[outer_ids.size()], made.node);
    }
    const std::vector<bool> needed = NeededFor(outer, structured);
    for (const Node& node : outer.nodes) {
      if (needed[node.id] && node.kind() != OpKind::kArg)
        outer_ids.emplace(node.id, CopyNode(builder, node, outer_ids));
    }
    HashMap<NodeId, NodeId> ids;
    HashMap<NodeId, Endpoint> args;
    for (size_t i = 0; i < inner.arg_nodes.size(); ++i) {
      const Endpoint input = structured.inputs[i + 1];
      args.emplace(inner.arg_nodes[i], Endpoint{outer_ids.at(input.node), input.slot});
    }
    for (const Node& node : inner.nodes) {
      if (node.kind() != OpKind::kArg) ids.emplace(node.id, CopyNode(builder, node, ids, args));
    }
    for (const FunctionResult& result : inner.results)
      builder.Return(result.name, Translate(result.value, ids, args));
    for (const auto& [name, node] : inner.control_results)
      builder.ReturnControl(name, ids.at(node));
    return builder.Build();
  }

  // What the arguments of `structured` are made of. All but the predicate: what it was is known.
  static std::vector<bool> NeededFor(const Function& outer, const Node& structured) {
    std::vector<bool> needed(outer.nodes.size(), false);
    std::vector<NodeId> work;
    const auto need = [&](Endpoint e) {
      if (!needed[e.node]) work.push_back(e.node);
      needed[e.node] = true;
    };
    std::for_each(structured.inputs.begin() + 1, structured.inputs.end(), need);
    while (!work.empty()) {
      const Node& node = outer.node(work.back());
      work.pop_back();
      std::for_each(node.inputs.begin(), node.inputs.end(), need);
    }
    return needed;
  }

  static Endpoint Translate(Endpoint e, const HashMap<NodeId, NodeId>& ids,
                            const HashMap<NodeId, Endpoint>& args) {
    const auto arg = args.find(e.node);
    return arg != args.end() ? arg->second : Endpoint{ids.at(e.node), e.slot};
  }

  static NodeId CopyNode(FunctionBuilder& builder, const Node& node,
                         const HashMap<NodeId, NodeId>& ids,
                         const HashMap<NodeId, Endpoint>& args = {}) {
    std::vector<Endpoint> inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(Translate(e, ids, args));
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs) {
      if (const auto made = ids.find(control); made != ids.end()) controls.push_back(made->second);
    }
    return builder.Copy(node, std::move(inputs), std::move(controls));
  }

  std::vector<std::string> Store(std::vector<Function> branches) {
    for (const std::string& name : gone_) functions_.erase(name);
    std::vector<std::string> stored;
    for (size_t i = 0; i < branches.size(); ++i) {
      const std::string wanted = absl::StrCat(first_.name, "/branch_", i);
      std::string name = wanted;
      for (int n = 1; !names_.emplace(name, 0).second; ++n) name = absl::StrCat(wanted, "_", n);
      branches[i].name = name;
      functions_.emplace(name, std::move(branches[i]));
      stored.push_back(std::move(name));
    }
    return stored;
  }

  const OpLookup& ops_;
  std::map<std::string, int>& names_;
  std::map<std::string, Function>& functions_;
  const Node& first_;
  std::vector<std::string> gone_;
};

}  // namespace

absl::Status MakeCases(const OpLookup& ops, std::map<std::string, int>& names,
                       std::map<std::string, Function>& functions, Function& function) {
  for (Node& node : function.nodes) {
    if (node.kind() != OpKind::kIf) continue;
    const std::optional<Endpoint> index = ComparedWith(function, node.inputs[0], 0);
    if (!index) continue;
    const std::vector<std::string> branches = Chain(ops, names, functions, node).Unroll(*index);
    if (branches.empty()) continue;
    std::vector<FunctionRef> refs;
    for (const std::string& name : branches) refs.push_back({name, nullptr});
    node.op_name = node.op->stateful() ? "Case" : "StatelessCase";
    node.op = ops.Find(node.op_name);
    AttrMap attrs;
    for (const char* kept : {"Tin", "Tout"}) attrs.Set(kept, *node.attrs.Find(kept));
    attrs.Set("branches", std::move(refs));
    node.attrs = std::move(attrs);
    node.inputs[0] = *index;
    const std::vector<NodeSignature::Slot> handed = node.signature.inputs;
    GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*node.op, node.attrs));
    for (size_t i = 1; i < handed.size(); ++i) node.signature.inputs[i].is_ref = handed[i].is_ref;
  }
  return absl::OkStatus();
}

}  // namespace gyre::raise
