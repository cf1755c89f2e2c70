#include "analysis/order.h"

#include <functional>
#include <queue>

#include "base/work.h"
#include "ir/data_order.h"

namespace gyre {

std::vector<NodeId> ProducersFirst(const Function& function, const std::vector<bool>& needed) {
  const size_t n = function.nodes.size();
  std::vector<int> pending(n, 0);
  std::vector<std::vector<NodeId>> consumers(n);
  const auto add_edge = [&](NodeId source, NodeId target) {
    if (!needed[source]) return;
    consumers[source].push_back(target);
    ++pending[target];
  };
  for (const Node& node : function.nodes) {
    if (!needed[node.id]) continue;
    for (const Endpoint& e : node.inputs) {
      if (!IsBackEdge(function.node(e.node), node)) add_edge(e.node, node.id);
    }
    for (const NodeId control : node.control_inputs) add_edge(control, node.id);
  }
  // The smallest id first: a function whose nodes are in order keeps it.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const Node& node : function.nodes) {
    if (needed[node.id] && pending[node.id] == 0) ready.push(node.id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    SpendWork(1 + static_cast<int64_t>(consumers[ready.top()].size()));
    order.push_back(ready.top());
    ready.pop();
    for (const NodeId consumer : consumers[order.back()]) {
      if (--pending[consumer] == 0) ready.push(consumer);
    }
  }
  return order;
}

std::vector<NodeId> ProducersFirst(const Function& function) {
  return ProducersFirst(function, std::vector<bool>(function.nodes.size(), true));
}

}  // namespace gyre
