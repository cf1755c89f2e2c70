#include "grad/splice.h"

#include <utility>

namespace gyre::grad {

std::vector<Endpoint> Splice(const Function& function, const std::vector<Endpoint>& args,
                             FunctionBuilder& into) {
  std::vector<Endpoint> first(function.nodes.size());  // output 0 of each node's copy
  const auto copied = [&](Endpoint e) {
    return Endpoint{first[e.node].node, first[e.node].slot + e.slot};
  };
  for (size_t i = 0; i < args.size(); ++i) first[function.arg_nodes[i]] = args[i];
  for (const Node& node : function.nodes) {
    if (node.kind() == OpKind::kArg) continue;
    std::vector<Endpoint> inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(copied(e));
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs) controls.push_back(first[control].node);
    first[node.id] = {into.Copy(node, std::move(inputs), std::move(controls)), 0};
  }
  std::vector<Endpoint> results;
  for (const FunctionResult& result : function.results) results.push_back(copied(result.value));
  return results;
}

}  // namespace gyre::grad
