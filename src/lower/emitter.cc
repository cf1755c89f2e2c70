#include "lower/emitter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/type_attrs.h"

namespace gyre::lower {

std::string LoweringEmitter::UniqueName(std::string wanted) {
  if (names_.emplace(wanted, 0).second) return wanted;
  while (true) {
    std::string name = absl::StrCat(wanted, "_", ++names_[wanted]);
    if (names_.emplace(name, 0).second) return name;
  }
}

NodeId LoweringEmitter::Add(Node node, NodeOrigin origin) {
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  node.id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  origins_.push_back(origin);
  return nodes_.back().id;
}

bool LoweringEmitter::is_ref(Endpoint e) const {
  const std::vector<NodeSignature::Slot>& outputs = nodes_[e.node].signature.outputs;
  return e.slot < static_cast<int>(outputs.size()) && outputs[e.slot].is_ref;
}

void LoweringEmitter::SetControls(NodeId node, std::vector<NodeId> controls) {
  std::sort(controls.begin(), controls.end());
  controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
  nodes_[node].control_inputs = std::move(controls);
}

// Primitives have forms of their own for references.
bool LoweringEmitter::HandsOnReference(absl::string_view op,
                                       const std::vector<Endpoint>& inputs) const {
  if (op == "Merge")
    return std::all_of(inputs.begin(), inputs.end(), [&](Endpoint e) { return is_ref(e); });
  const bool has_form = op == "Switch" || op == "Enter" || op == "Exit" || op == "NextIteration";
  return has_form && is_ref(inputs[0]);
}

NodeId LoweringEmitter::PlumbNamed(Where where, absl::string_view op, std::string name,
                                   const std::vector<Endpoint>& inputs,
                                   std::vector<NodeId> controls, AttrMap attrs) {
  const bool hands_on_reference = HandsOnReference(op, inputs);
  Node node;
  node.name = std::move(name);
  node.op_name = absl::StrCat(hands_on_reference ? "Ref" : "", op);
  node.op = ops_.Find(node.op_name);
  node.inputs = inputs;
  std::vector<NodeSignature::Slot> slots;
  for (const Endpoint& input : inputs) slots.push_back({dtype(input), is_ref(input)});
  if (node.op == nullptr) {
    if (status_.ok()) status_ = BugError(absl::StrCat("there is no op ", op));
    return AddPlumbing(std::move(node), where, std::move(controls));
  }
  for (const auto& [attr, value] : DeduceTypeAttrs(*node.op, slots, {})) {
    if (!attrs.Has(attr)) attrs.Set(attr, value);
  }
  node.attrs = std::move(attrs);
  absl::StatusOr<NodeSignature> signature = ResolveSignature(*node.op, node.attrs);
  if (signature.ok()) {
    node.signature = *std::move(signature);
  } else if (status_.ok()) {
    status_ = BugError(absl::StrCat("plumbing ", node.name, ": ", signature.status().message()));
  }
  return AddPlumbing(std::move(node), where, std::move(controls));
}

NodeId LoweringEmitter::AddPlumbing(Node node, Where where, std::vector<NodeId> controls) {
  const NodeId id = Add(std::move(node), {where.structured, where.scope, true, 0});
  SetControls(id, std::move(controls));
  return id;
}

DType LoweringEmitter::dtype(Endpoint e) const {
  const std::vector<NodeSignature::Slot>& outputs = nodes_[e.node].signature.outputs;
  const DType known =
      e.slot < static_cast<int>(outputs.size()) ? outputs[e.slot].dtype : DType::kInvalid;
  return known == DType::kInvalid ? DType::kVariant : known;
}

}  // namespace gyre::lower
