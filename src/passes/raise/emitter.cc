#include "passes/raise/emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"

namespace gyre::raise {

std::string RaisingEmitter::UniqueName(const std::string& wanted) {
  const auto [last, is_new] = names_.try_emplace(wanted, 0);
  std::string name = wanted;
  while (!is_new && (name = absl::StrCat(wanted, "_", ++last->second), names_.contains(name))) {
  }
  if (!is_new) names_.emplace(name, 0);
  return name;
}

std::unique_ptr<RaisedScope> RaisingEmitter::Open(RaisedScope& parent, const std::string& name) {
  Function start;
  start.name = UniqueName(name);
  return std::make_unique<RaisedScope>(ops_, std::move(start), &parent);
}

absl::StatusOr<Endpoint> RaisingEmitter::Find(RaisedScope& scope, Endpoint value) {
  const auto found = scope.values.find(value);
  if (found != scope.values.end()) return found->second;
  if (scope.parent == nullptr)
    return BugError(absl::StrCat("raising: nothing makes ", flow_.NameOf(value)));
  Endpoint outside = value;
  if (scope.loop > 0) {
    const auto& invariants = flow_.loop(scope.loop).invariants;
    const auto invariant = invariants.find(value);
    if (invariant != invariants.end()) outside = invariant->second;
  }
  const auto [arg, is_new] = scope.args.try_emplace(outside, Endpoint{});
  if (is_new) {
    const NodeSignature::Slot type = flow_.TypeOf(value);
    if (type.dtype == DType::kInvalid)
      return absl::UnimplementedError(
          absl::StrCat("nobody knows the type of ", flow_.NameOf(value)));
    arg->second =
        scope.builder.Arg(flow_.NameOf(outside), type.dtype, PartialShape::Unknown(), type.is_ref);
    scope.captures.push_back(outside);
  }
  scope.values.emplace(value, arg->second);
  return arg->second;
}

NodeId RaisingEmitter::FindNode(RaisedScope& scope, int unit) {
  const auto found = scope.nodes.find(unit);
  if (found != scope.nodes.end()) return found->second;
  scope.waits.push_back(unit);
  return -1;
}

std::vector<NodeId> RaisingEmitter::ControlsOf(RaisedScope& scope, const std::vector<int>& units,
                                               const std::vector<Endpoint>& inputs) {
  std::vector<NodeId> controls;
  for (const int unit : units) {
    if (!flow_.unit(unit).is_live) continue;
    if (const NodeId node = FindNode(scope, unit); node >= 0) controls.push_back(node);
  }
  std::sort(controls.begin(), controls.end());
  controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
  std::erase_if(controls, [&](NodeId control) {
    return std::any_of(inputs.begin(), inputs.end(), [&](Endpoint e) { return e.node == control; });
  });
  return controls;
}

absl::Status RaisingEmitter::EmitUnit(RaisedScope& scope, int id) {
  switch (flow_.unit(id).kind) {
    case Unit::Kind::kNode:
    case Unit::Kind::kForward:
      return EmitNode(scope, id);
    case Unit::Kind::kLoop:
      return EmitLoop(scope, id);
    case Unit::Kind::kJoin:
      break;
  }
  return BugError("raising: a join stands alone");
}

absl::Status RaisingEmitter::EmitNode(RaisedScope& scope, int id) {
  const Unit& unit = flow_.unit(id);
  const Node& node = flow_.function().node(unit.node);
  std::vector<Endpoint> inputs;
  for (const Endpoint& value : unit.reads) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, value));
  }
  std::vector<NodeId> controls = ControlsOf(scope, unit.after, inputs);
  if (unit.kind == Unit::Kind::kForward) {
    FunctionBuilder::NodeOptions options;
    options.name = node.name;
    options.control_inputs = std::move(controls);
    const bool is_ref = node.signature.outputs[0].is_ref;  // stays one
    GYRE_ASSIGN_OR_RETURN(const NodeId made, scope.builder.Add(is_ref ? "RefIdentity" : "Identity",
                                                               inputs, {}, std::move(options)));
    scope.nodes.emplace(id, made);
    scope.values[{static_cast<NodeId>(flow_.function().nodes.size()) + id, 0}] = {made, 0};
    return absl::OkStatus();
  }
  const NodeId made = scope.builder.Copy(node, std::move(inputs), std::move(controls));
  scope.nodes.emplace(id, made);
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    const Endpoint value = {node.id, slot};
    if (!flow_.IsFed(value)) scope.values.insert_or_assign(value, Endpoint{made, slot});
  }
  if (unit.must_run) scope.effects.push_back(made);
  return absl::OkStatus();
}

// The same function with its arguments in front of all other nodes.
static Function ArgsFirst(Function function) {
  std::vector<NodeId> order = function.arg_nodes;
  for (const Node& node : function.nodes) {
    if (node.kind() != OpKind::kArg) order.push_back(node.id);
  }
  std::vector<NodeId> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<NodeId>(i);
  std::vector<Node> nodes;
  for (const NodeId id : order) {
    Node& node = nodes.emplace_back(std::move(function.nodes[id]));
    node.id = place[id];
    for (Endpoint& e : node.inputs) e.node = place[e.node];
    for (NodeId& control : node.control_inputs) control = place[control];
  }
  function.nodes = std::move(nodes);
  for (NodeId& arg : function.arg_nodes) arg = place[arg];
  for (FunctionResult& result : function.results) result.value.node = place[result.value.node];
  for (auto& [name, node] : function.control_results) node = place[node];
  return function;
}

void RaisingEmitter::Close(RaisedScope& scope) {
  std::sort(scope.effects.begin(), scope.effects.end());
  scope.effects.erase(std::unique(scope.effects.begin(), scope.effects.end()), scope.effects.end());
  for (const NodeId node : scope.effects)
    scope.builder.ReturnControl(scope.builder.node(node).name, node);
  functions_.push_back(ArgsFirst(scope.builder.Build()));
}

std::vector<Endpoint> RaisingEmitter::ShareCaptures(const std::vector<RaisedScope*>& scopes,
                                                    size_t fixed) {
  std::vector<Endpoint> all;
  HashSet<Endpoint> seen;
  for (const RaisedScope* scope : scopes) {
    for (const Endpoint& value : scope->captures) {
      if (seen.insert(value).second) all.push_back(value);
    }
  }
  for (RaisedScope* scope : scopes) {
    std::vector<Endpoint> order;
    for (const Endpoint& value : all) {
      Endpoint& arg = scope->args.try_emplace(value, Endpoint{}).first->second;
      if (arg.node < 0) {
        const NodeSignature::Slot type = flow_.TypeOf(value);
        arg = scope->builder.Arg(flow_.NameOf(value), type.dtype, PartialShape::Unknown(),
                                 type.is_ref);
      }
      order.push_back(arg);
    }
    scope->builder.OrderArgs(fixed, order);
  }
  return all;
}

}  // namespace gyre::raise
