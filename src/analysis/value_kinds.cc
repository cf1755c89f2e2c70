#include "analysis/value_kinds.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ops/list/list_rules.h"

namespace gyre {
namespace {

bool IsArrayOp(const Node& node) { return absl::StartsWith(node.op_name, "TensorArray"); }

bool HasKinds(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
    return IsArrayOp(node) ||
           std::any_of(node.signature.outputs.begin(), node.signature.outputs.end(),
                       [](const auto& slot) { return slot.dtype == DType::kVariant; });
  });
}

ValueKind ListOf(DType dtype) { return {ValueKind::Type::kList, dtype, {ValueKind()}}; }

DType TypeAttr(const Node& node, absl::string_view name) {
  const DType* dtype = node.attrs.Get<DType>(name);
  return dtype == nullptr ? DType::kInvalid : *dtype;
}

// The flow that an op on an array makes has the element type that its attributes name.
KindRow OutputsOfArrayOp(const Node& node) {
  KindRow kinds(node.num_outputs());
  if (node.op == nullptr || node.op->outputs.empty()) return kinds;
  if (absl::StartsWith(node.op_name, "TensorArrayGrad"))
    kinds[0] = {ValueKind::Type::kGradientArray, DType::kInvalid, {}};
  if (!absl::StartsWith(node.op->outputs.back().name, "flow")) return kinds;
  const DType dtype = TypeAttr(node, node.attrs.Has("dtype") ? "dtype" : "T");
  if (dtype != DType::kInvalid) kinds.back() = {ValueKind::Type::kFlow, dtype, {}};
  return kinds;
}

// The list of `inputs` with what else may be an element of it.
ValueKind ListWith(const ValueKind& list, const ValueKind& element, DType dtype) {
  return CutToDepth(Join(list, {ValueKind::Type::kList, dtype, {element}}));
}

KindRow OutputsOfListOp(const Node& node, const KindRow& inputs) {
  KindRow kinds(node.num_outputs());
  if (kinds.empty()) return kinds;
  const DType dtype = TypeAttr(node, node.attrs.Has("element_dtype") ? "element_dtype" : "T");
  const bool takes_list = !inputs.empty() && inputs[0].IsList();
  const bool gives_list = node.signature.outputs[0].dtype == DType::kVariant &&
                          node.op_name != "TensorListGetItem" &&
                          node.op_name != "_TensorListItemsOrZeros";
  if (gives_list) {
    kinds[0] = takes_list ? inputs[0] : ListOf(dtype);
    // The last input of an op that adds elements is what it adds.
    if ((dtype == DType::kVariant || dtype == DType::kResource) && inputs.size() > 1 && takes_list)
      kinds[0] = ListWith(kinds[0], inputs.back(), dtype);
  }
  const bool gives_element =
      takes_list && !inputs[0].parts.empty() &&
      (node.op_name == "TensorListGetItem" || node.op_name == "TensorListPopBack");
  if (gives_element) kinds.back() = inputs[0].parts[0];
  return kinds;
}

}  // namespace

ValueKinds::ValueKinds(const Program& program)
    : program_(program), has_any_(HasKinds(program.main())) {
  for (const auto& [name, function] : program.functions()) has_any_ |= HasKinds(*function);
}

std::vector<KindRow> ValueKinds::Of(const Function& function, const KindRow& args) {
  while (true) {
    is_stale_ = false;
    evaluated_.clear();
    std::vector<KindRow> kinds = Evaluate(function, args);
    if (!is_stale_) return kinds;
    for (Entry* const entry : evaluated_) entry->state = Entry::State::kOld;
  }
}

std::vector<KindRow> ValueKinds::Evaluate(const Function& function, const KindRow& args) {
  std::vector<KindRow> kinds;
  for (const Node& node : function.nodes) kinds.emplace_back(node.num_outputs());
  if (!has_any_) return kinds;
  for (size_t i = 0; i < std::min(args.size(), function.arg_nodes.size()); ++i)
    kinds[function.arg_nodes[i]][0] = args[i];
  for (const NodeId id : OrderByData(function).order) {
    SpendWork();
    const Node& node = function.node(id);
    if (node.kind() == OpKind::kArg) continue;
    KindRow inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(kinds[e.node][e.slot]);
    kinds[id] = Outputs(node, inputs);
  }
  return kinds;
}

KindRow ValueKinds::Outputs(const Node& node, const KindRow& inputs) {
  if (IsStructured(node.kind()))
    return OutputsOfStructured(node, {inputs.begin() + NumSelectorInputs(node), inputs.end()});
  if (absl::StartsWith(node.op_name, "TensorList") || node.op_name == "EmptyTensorList" ||
      absl::StartsWith(node.op_name, "_TensorList"))
    return OutputsOfListOp(node, inputs);
  if (IsArrayOp(node)) return OutputsOfArrayOp(node);
  const auto* texts = node.attrs.Get<std::vector<std::string>>(kKindsAttr);
  if (node.op_name == "OptionalFromValue")
    return {CutToDepth({ValueKind::Type::kOptional, DType::kInvalid, texts == nullptr ? inputs : KindRow()})};
  if (node.op_name == "OptionalNone" || node.op_name == "_OptionalZero")
    return {{ValueKind::Type::kOptional, DType::kInvalid, {}}};
  KindRow kinds(node.num_outputs());
  const bool gets_or_zeros = node.op_name == "_OptionalGetOrZeros";
  const bool gets = node.op_name == "OptionalGetValue" || gets_or_zeros;
  if (gets && texts != nullptr) {
    for (size_t i = 0; i < std::min(kinds.size(), texts->size()); ++i)
      kinds[i] = ParseKind((*texts)[i]);
  } else if (gets) {
    kinds = inputs[0].parts;
    kinds.resize(node.num_outputs());
    if (gets_or_zeros) JoinRow(kinds, {inputs.begin() + 1, inputs.end()});
  } else if (HandsOn(node) && inputs.size() >= kinds.size()) {
    kinds.assign(inputs.begin(), inputs.begin() + node.num_outputs());
  } else if (kinds.size() == 1 && node.signature.outputs[0].dtype == DType::kVariant) {
    for (const ValueKind& input : inputs) kinds[0] = Join(kinds[0], input);  // sums, choices
  }
  return kinds;
}

KindRow ValueKinds::OutputsOfStructured(const Node& node, const KindRow& args) {
  const bool is_loop = IsLoop(node.kind());
  KindRow outputs = is_loop ? args : KindRow(node.num_outputs());
  for (const Callee& callee : CalleesOf(program_, node)) {
    if (callee.is_condition()) continue;
    for (bool changed = true; changed;) {
      KindRow inputs = is_loop ? outputs : args;
      inputs.insert(inputs.begin(), NumCounterArgs(node), ValueKind());
      const KindRow before = outputs;
      JoinRow(outputs, Results(callee.function.name, inputs));
      changed = is_loop && outputs != before;
    }
  }
  return outputs;
}

KindRow ValueKinds::Results(const std::string& name, const KindRow& args) {
  const Function* function = program_.FindFunction(name);
  if (function == nullptr) return {};
  Entry& entry = results_[{name, args}];
  if (entry.state != Entry::State::kOld) {
    entry.was_guessed |= entry.state == Entry::State::kInWork;
    return entry.kinds;
  }
  CheckStack();
  entry.state = Entry::State::kInWork;
  entry.was_guessed = false;
  evaluated_.push_back(&entry);
  const std::vector<KindRow> kinds = Evaluate(*function, args);
  KindRow results;
  for (const FunctionResult& result : function->results)
    results.push_back(kinds[result.value.node][result.value.slot]);
  JoinRow(results, entry.kinds);
  is_stale_ |= entry.was_guessed && results != entry.kinds;
  entry.kinds = std::move(results);
  entry.state = Entry::State::kKnown;
  return entry.kinds;
}

}  // namespace gyre
