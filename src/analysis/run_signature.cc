#include "analysis/run_signature.h"

#include "base/hash_map.h"
#include "base/work.h"

namespace gyre {

std::vector<bool> NeededNodes(const Function& function, const RunSignature& signature) {
  const HashSet<Endpoint> fed(signature.feeds.begin(), signature.feeds.end());
  std::vector<bool> needed(function.nodes.size(), false);
  std::vector<NodeId> work;
  const auto need = [&](NodeId id) {
    if (needed[id]) return;
    needed[id] = true;
    work.push_back(id);
  };
  for (const Endpoint& fetch : signature.fetches) {
    if (!fed.contains(fetch)) need(fetch.node);
  }
  for (const NodeId target : signature.targets) need(target);
  while (!work.empty()) {
    const Node& node = function.nodes[work.back()];
    work.pop_back();
    SpendWork(1 + static_cast<int64_t>(node.inputs.size() + node.control_inputs.size()));
    for (const Endpoint& input : node.inputs) {
      if (!fed.contains(input)) need(input.node);
    }
    for (const NodeId control : node.control_inputs) {
      // A control edge from a placeholder that is fed says nothing: there is no work to wait for.
      const bool fed_placeholder =
          function.nodes[control].kind() == OpKind::kPlaceholder && fed.contains({control, 0});
      if (!fed_placeholder) need(control);
    }
  }
  return needed;
}

RunSignature CallSignature(const Function& function) {
  RunSignature signature;
  for (const FunctionResult& result : function.results) signature.fetches.push_back(result.value);
  for (const auto& [name, node] : function.control_results) signature.targets.push_back(node);
  for (const Node& node : function.nodes) {
    const bool keep = node.op != nullptr && (node.op->traits.effect == Effect::kIo ||
                                             node.op->traits.effect == Effect::kWrite);
    if (keep) signature.targets.push_back(node.id);
  }
  return signature;
}

}  // namespace gyre
