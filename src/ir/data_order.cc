#include "ir/data_order.h"

#include "base/work.h"

namespace gyre {

bool IsBackEdge(const Node& source, const Node& destination) {
  return destination.kind() == OpKind::kMerge && source.kind() == OpKind::kNextIteration;
}

DataOrder OrderByData(const Function& function) {
  const size_t n = function.nodes.size();
  DataOrder result;
  result.consumers.resize(n);
  result.position.assign(n, -1);
  result.order.reserve(n);
  std::vector<int> pending(n, 0);
  for (const Node& node : function.nodes) {
    SpendWork(1 + static_cast<int64_t>(node.inputs.size()));
    for (const Endpoint& e : node.inputs) {
      std::vector<NodeId>& consumers = result.consumers[e.node];
      if (!consumers.empty() && consumers.back() == node.id) continue;
      consumers.push_back(node.id);
      if (!IsBackEdge(function.node(e.node), node)) ++pending[node.id];
    }
  }
  const auto place = [&](NodeId id) {
    result.position[id] = static_cast<int>(result.order.size());
    result.order.push_back(id);
  };
  for (const NodeId id : function.arg_nodes) place(id);
  for (const Node& node : function.nodes) {
    if (pending[node.id] == 0 && result.position[node.id] == -1) place(node.id);
  }
  for (size_t next = 0; next < result.order.size(); ++next) {
    const NodeId source = result.order[next];
    for (const NodeId consumer : result.consumers[source]) {
      if (IsBackEdge(function.node(source), function.node(consumer))) continue;
      if (--pending[consumer] == 0) place(consumer);
    }
  }
  for (const Node& node : function.nodes) {
    if (result.position[node.id] == -1) place(node.id);
  }
  return result;
}

}  // namespace gyre
