#include "front/outside/lifted.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/run_signature.h"
#include "front/error.h"
#include "front/graph_state.h"

namespace gyre::internal {
namespace {

// What the argument of a body stands for outside; nothing if it is one of its own.
std::optional<Value> Captured(Scope& scope, NodeId arg) {
  for (const Value& capture : std::vector<Value>(scope.captures())) {
    const std::optional<Endpoint> here = scope.Find(capture);
    if (here && here->node == arg) return capture;
  }
  return std::nullopt;
}

Endpoint LiftedNode(Scope& scope, Scope& main, const Node& node,
                    const std::map<NodeId, Endpoint>& lifted, const std::source_location& where) {
  NodeRequest request{.op = node.op_name,
                      .attrs = node.attrs,
                      .name = node.name,
                      .device = node.device,
                      .where = where,
                      .source = node.source};
  const auto at = [&](const Endpoint& e) {
    const Endpoint first = lifted.at(e.node);
    return Endpoint{first.node, first.slot + e.slot};
  };
  for (const Endpoint& input : node.inputs) request.inputs.push_back(at(input));
  for (const NodeId id : node.control_inputs)
    request.awaited.emplace_back(main.shared_from_this(), lifted.at(id).node);
  std::vector<ValueInfo> infos;
  for (int slot = 0; slot < node.num_outputs(); ++slot)
    infos.push_back(scope.info({node.id, slot}));
  request.infos = std::move(infos);
  return {main.Add(std::move(request)), 0};
}

}  // namespace

Value Lift(const Value& value, const std::source_location& where) {
  const ScopePtr scope = value.scope();
  if (scope->is_main()) return value;
  const std::shared_ptr<GraphState> graph = scope->graph();
  const ScopePtr main = graph->main();
  const InMainGraph in_main(graph);
  const Function function = scope->function();
  const std::vector<bool> needed = NeededNodes(function, {{}, {{value.node(), value.slot()}}, {}});
  std::map<NodeId, Endpoint> lifted;         // the first output of each node
  for (const Node& node : function.nodes) {  // inputs come before who reads them
    if (!needed[node.id]) continue;
    if (node.kind() != OpKind::kArg) {
      lifted.emplace(node.id, LiftedNode(*scope, *main, node, lifted, where));
      continue;
    }
    const std::optional<Value> outside = Captured(*scope, node.id);
    if (!outside) {
      ThrowInvalid(absl::StrCat("'", value.name(), "' hangs on '", node.name, "', an argument of ",
                                scope->description().what, ", and cannot be computed outside"),
                   where);
    }
    const Value above = Lift(*outside, where);
    lifted.emplace(node.id, Endpoint{above.node(), above.slot()});
  }
  const Endpoint first = lifted.at(value.node());
  return main->ValueAt({first.node, first.slot + value.slot()});
}

}  // namespace gyre::internal
