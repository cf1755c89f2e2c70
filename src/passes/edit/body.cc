#include "passes/edit/body.h"

#include <algorithm>

#include "analysis/order.h"
#include "base/work.h"

namespace gyre::passes {

BodyFacts ReadBody(const Function& function, const Effects& effects,
                   const std::vector<Endpoint>& feeds) {
  const size_t n = function.nodes.size();
  BodyFacts body;
  body.order = ProducersFirst(function);
  body.effects.resize(n);
  body.after_effects.resize(n);
  body.is_fixed.resize(n);
  for (const Endpoint& feed : feeds) body.is_fixed[feed.node] = true;
  // An output may be a reference where the signature says value: some ops hand on what they get.
  body.gives_reference.resize(n);
  std::vector<bool>& gives_reference = body.gives_reference;
  for (const NodeId id : body.order) {
    SpendWork();
    const Node& node = function.node(id);
    body.effects[id] = effects.Of(node);
    bool takes_reference = false;
    bool waits = body.effects[id].IsOrdered();
    for (const Endpoint& e : node.inputs) {
      takes_reference |= gives_reference[e.node];
      waits |= body.after_effects[e.node];
    }
    for (const NodeId control : node.control_inputs) waits |= body.after_effects[control];
    const auto& outputs = node.signature.outputs;
    gives_reference[id] =
        std::any_of(outputs.begin(), outputs.end(), [](const auto& slot) { return slot.is_ref; }) ||
        (takes_reference && (node.op == nullptr || node.op->traits.forwards));
    body.after_effects[id] = waits || takes_reference;
    if (takes_reference || gives_reference[id] || node.op == nullptr) body.is_fixed[id] = true;
  }
  return body;
}

const Node* MakerOf(const Rewrite& rewrite, const BodyFacts& body, Endpoint e) {
  e = rewrite.Resolve(e);
  const bool is_old = static_cast<size_t>(e.node) < body.is_fixed.size();
  return is_old && body.is_fixed[e.node] ? nullptr : &rewrite.node(e.node);
}

const Tensor* ConstantOf(const Rewrite& rewrite, const BodyFacts& body, Endpoint e) {
  const Node* const maker = MakerOf(rewrite, body, e);
  return maker == nullptr ? nullptr : ConstantValue(*maker);
}

std::vector<std::vector<NodeId>> Readers(const Function& function) {
  std::vector<std::vector<NodeId>> readers(function.nodes.size());
  for (const Node& node : function.nodes) {
    for (const Endpoint& e : node.inputs) readers[e.node].push_back(node.id);
  }
  return readers;
}

}  // namespace gyre::passes
