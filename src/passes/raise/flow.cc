#include "passes/raise/flow.h"

namespace gyre::raise {
Endpoint Flow::Value(Endpoint e) const {
  if (IsFed(e)) return e;
  if (e.node >= static_cast<NodeId>(values_.size()) || values_[e.node].empty()) return e;
  return values_[e.node][e.slot];
}

int Flow::Maker(Endpoint value) const {
  const auto n = static_cast<NodeId>(function_->nodes.size());
  if (IsFed(value)) return -1;
  // What units make in place of a Merge goes by their own numbers.
  if (value.node < n && function_->node(value.node).kind() == OpKind::kMerge) return -1;
  return value.node >= n ? value.node - n : unit_of_node_[value.node];
}

NodeSignature::Slot Flow::TypeOf(Endpoint value) const {
  const auto n = static_cast<NodeId>(function_->nodes.size());
  if (value.node < n) {
    const auto& outputs = function_->node(value.node).signature.outputs;
    return value.slot < static_cast<int>(outputs.size()) ? outputs[value.slot]
                                                         : NodeSignature::Slot{};
  }
  const Unit& unit = units_[value.node - n];
  if (unit.kind == Unit::Kind::kForward) return TypeOf(unit.reads[0]);
  for (const Leaf& leaf : unit.sides) {
    if (unit.is_truth) return {DType::kBool, false};
    if (leaf.kind == Leaf::Kind::kIndex) return {DType::kInt32, false};
    if (leaf.kind == Leaf::Kind::kValue) return TypeOf(leaf.value);
  }
  return {};
}

std::string Flow::NameOf(Endpoint value) const {
  const auto n = static_cast<NodeId>(function_->nodes.size());
  if (value.node < n) return function_->node(value.node).name;
  return function_->node(units_[value.node - n].node).name;
}

std::optional<Endpoint> Flow::AliveFlag(Endpoint fetch) const {
  const auto found = alive_flags_.find(fetch);
  if (found == alive_flags_.end()) return std::nullopt;
  return found->second;
}

ContextId Flow::ContextOf(Endpoint e) const {
  return sides_[e.node].empty() ? context_of_[e.node] : sides_[e.node][e.slot];
}

}  // namespace gyre::raise
