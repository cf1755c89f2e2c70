#include "ir/branches.h"

#include <utility>

#include "base/hash_map.h"
#include "ir/data_order.h"

namespace gyre {
namespace {

class BranchAnalysis {
 public:
  explicit BranchAnalysis(const Function& function) : function_(function) {
    table_.branches.emplace_back();
    table_.branch_of_node.assign(function.nodes.size(), 0);
  }

  BranchTable Run() {
    for (const NodeId id : OrderByData(function_).order) {
      table_.branch_of_node[id] = BranchOf(function_.node(id));
    }
    // Data edges order the nodes; a control edge may come from a node that stands later, so look
    // once more.
    for (const Node& node : function_.nodes) {
      for (const NodeId source : node.control_inputs) {
        if (node.kind() == OpKind::kMerge) continue;
        table_.branch_of_node[node.id] =
            Deeper(table_.branch_of_node[node.id], table_.branch_of_node[source]);
      }
    }
    return std::move(table_);
  }

 private:
  int BranchOf(const Node& node) {
    int branch = -1;
    for (const Endpoint& e : node.inputs) {
      if (IsBackEdge(function_.node(e.node), node)) continue;
      const int source = BranchOfValue(e);
      if (branch == -1) {
        branch = source;
      } else {
        branch = node.kind() == OpKind::kMerge ? Common(branch, source) : Deeper(branch, source);
      }
    }
    if (branch == -1) branch = 0;
    if (node.kind() == OpKind::kMerge) return branch;
    for (const NodeId source : node.control_inputs)
      branch = Deeper(branch, table_.branch_of_node[source]);
    return branch;
  }

  int BranchOfValue(Endpoint e) {
    const Node& source = function_.node(e.node);
    const int branch = table_.branch_of_node[e.node];
    const bool is_switch = source.kind() == OpKind::kSwitch || source.kind() == OpKind::kSwitchN;
    if (!is_switch || source.inputs.size() < 2) return branch;
    const Endpoint predicate = source.inputs[1];
    if (function_.node(predicate.node).kind() == OpKind::kLoopCond) return branch;
    const auto key = std::make_pair(std::make_pair(branch, e.slot), predicate);
    const auto [it, inserted] = index_.try_emplace(key, static_cast<int>(table_.branches.size()));
    if (inserted)
      table_.branches.push_back({predicate, e.slot, branch, table_.branches[branch].depth + 1});
    return it->second;
  }

  int Deeper(int a, int b) const {
    return table_.branches[b].depth > table_.branches[a].depth ? b : a;
  }

  int Common(int a, int b) const {
    while (a != b) {
      if (table_.branches[a].depth >= table_.branches[b].depth) {
        a = table_.branches[a].parent;
      } else {
        b = table_.branches[b].parent;
      }
    }
    return a;
  }

  const Function& function_;
  BranchTable table_;
  HashMap<std::pair<std::pair<int, int>, Endpoint>, int> index_;
};

}  // namespace

BranchTable AnalyzeBranches(const Function& function) { return BranchAnalysis(function).Run(); }

}  // namespace gyre
