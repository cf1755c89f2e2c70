#include "ops/list/list_kinds.h"

#include <algorithm>

#include "ir/program.h"
#include "ops/list/list_rules.h"

namespace gyre::kinds {
namespace {

DType TypeAttr(const Node& node, absl::string_view name) {
  const DType* dtype = node.attrs.Get<DType>(name);
  return dtype == nullptr ? DType::kInvalid : *dtype;
}

DType ElementType(const Node& node, absl::string_view name) {
  return TypeAttr(node, node.attrs.Has(name) ? name : "T");
}

bool TakesList(const KindRow& inputs) { return !inputs.empty() && inputs[0].IsList(); }

// Written by gradients, which know more than the inputs of the one node.
const std::vector<std::string>* KindsAttr(const Node& node) {
  return node.attrs.Get<std::vector<std::string>>(kKindsAttr);
}

ValueKind OptionalOf(KindRow parts) {
  return {ValueKind::Type::kOptional, DType::kInvalid, std::move(parts)};
}

}  // namespace

KindRow List(const Node& node, const KindRow& inputs) {
  KindRow kinds(node.num_outputs());
  const DType dtype = ElementType(node, "element_dtype");
  if (!TakesList(inputs)) {
    kinds[0] = {ValueKind::Type::kList, dtype, {ValueKind()}};
    return kinds;
  }
  kinds[0] = inputs[0];
  const bool may_nest = dtype == DType::kVariant || dtype == DType::kResource;
  if (may_nest && inputs.size() > 1)
    kinds[0] = CutToDepth(Join(inputs[0], {ValueKind::Type::kList, dtype, {inputs.back()}}));
  return kinds;
}

KindRow Element(const Node& node, const KindRow& inputs) {
  KindRow kinds(node.num_outputs());
  if (TakesList(inputs) && !inputs[0].parts.empty()) kinds.back() = inputs[0].parts[0];
  return kinds;
}

KindRow ListAndElement(const Node& node, const KindRow& inputs) {
  KindRow kinds = Element(node, inputs);
  kinds[0] = List(node, inputs)[0];
  return kinds;
}

KindRow Plain(const Node& node, const KindRow&) { return KindRow(node.num_outputs()); }

KindRow Nothing(const Node&, const KindRow&) { return {OptionalOf({})}; }

KindRow OptionalOfInputs(const Node& node, const KindRow& inputs) {
  return {CutToDepth(OptionalOf(KindsAttr(node) == nullptr ? inputs : KindRow()))};
}

KindRow Content(const Node& node, const KindRow& inputs) {
  KindRow kinds(node.num_outputs());
  if (const std::vector<std::string>* const texts = KindsAttr(node); texts != nullptr) {
    for (size_t i = 0; i < std::min(kinds.size(), texts->size()); ++i)
      kinds[i] = ParseKind((*texts)[i]);
    return kinds;
  }
  kinds = inputs[0].parts;
  kinds.resize(node.num_outputs());
  return kinds;
}

KindRow ContentOrInputs(const Node& node, const KindRow& inputs) {
  KindRow kinds = Content(node, inputs);
  if (KindsAttr(node) == nullptr) JoinRow(kinds, {inputs.begin() + 1, inputs.end()});
  return kinds;
}

KindRow FlowLast(const Node& node, const KindRow&) {
  KindRow kinds(node.num_outputs());
  const DType dtype = ElementType(node, "dtype");
  if (dtype != DType::kInvalid) kinds.back() = {ValueKind::Type::kFlow, dtype, {}};
  return kinds;
}

KindRow GradientArrayAndFlow(const Node& node, const KindRow& inputs) {
  KindRow kinds = FlowLast(node, inputs);
  kinds[0] = {ValueKind::Type::kGradientArray, DType::kInvalid, {}};
  return kinds;
}

}  // namespace gyre::kinds
