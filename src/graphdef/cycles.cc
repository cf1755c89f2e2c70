#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphdef/body_reader.h"
#include "ir/data_order.h"

namespace gyre {
namespace {

template <typename Visit>
void ForEachInput(const Function& function, const Node& node, Visit visit) {
  for (const Endpoint& input : node.inputs) {
    if (!IsBackEdge(function.nodes[input.node], node)) visit(input.node);
  }
  for (const NodeId input : node.control_inputs) visit(input);
}

// A cycle among the nodes that wait for others of them: walking backwards must meet a node again.
std::string DescribeCycle(const Function& function, const std::vector<int>& waiting) {
  constexpr size_t kMaxShown = 8;
  std::vector<NodeId> path;
  std::vector<bool> seen(function.nodes.size());
  NodeId at = static_cast<NodeId>(
      std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; }) - waiting.begin());
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    NodeId next = at;
    ForEachInput(function, function.nodes[at], [&](NodeId input) {
      if (waiting[input] > 0) next = input;
    });
    at = next;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::reverse(path.begin(), path.end());
  const bool is_long = path.size() > kMaxShown;
  if (is_long) path.resize(kMaxShown);
  const std::string shown = absl::StrJoin(
      path, " -> ", [&](std::string* out, NodeId id) { out->append(function.nodes[id].name); });
  return absl::StrCat(shown, " -> ", is_long ? "… -> " : "", function.nodes[path[0]].name);
}

}  // namespace

absl::Status CheckAcyclic(const Function& function) {
  const size_t n = function.nodes.size();
  std::vector<int> waiting(n, 0);
  std::vector<std::vector<NodeId>> consumers(n);
  for (const Node& node : function.nodes) {
    ForEachInput(function, node, [&](NodeId input) {
      consumers[input].push_back(node.id);
      ++waiting[node.id];
    });
  }
  std::vector<NodeId> ready;
  for (const Node& node : function.nodes) {
    if (waiting[node.id] == 0) ready.push_back(node.id);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const NodeId id = ready.back();
    ready.pop_back();
    for (const NodeId consumer : consumers[id]) {
      if (--waiting[consumer] == 0) ready.push_back(consumer);
    }
  }
  if (done == n) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the nodes depend on each other in a cycle that is not a loop "
                   "(no edge from a NextIteration to a Merge closes it): ",
                   DescribeCycle(function, waiting)));
}

}  // namespace gyre
