#include "grad/kinds.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ops/list/list_rules.h"

namespace gyre::grad {
namespace {

// Deeper kinds are not told apart.
constexpr int kMaxDepth = 8;

bool IsArrayOp(const Node& node) { return absl::StartsWith(node.op_name, "TensorArray"); }

bool HasKinds(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
    return IsArrayOp(node) ||
           std::any_of(node.signature.outputs.begin(), node.signature.outputs.end(),
                       [](const auto& slot) { return slot.dtype == DType::kVariant; });
  });
}

Kind Cut(Kind kind, int depth = 0) {
  if (depth == kMaxDepth) kind.parts.clear();
  for (Kind& part : kind.parts) part = Cut(std::move(part), depth + 1);
  return kind;
}

// The kind of what is one or the other; what is not known gives way.
Kind Join(const Kind& a, const Kind& b) {
  if (a.type == Kind::Type::kOther) return b;
  if (a.type != b.type) return a;
  Kind joined = a.parts.size() >= b.parts.size() ? a : b;
  const Kind& other = a.parts.size() >= b.parts.size() ? b : a;
  if (joined.dtype == DType::kInvalid) joined.dtype = other.dtype;
  for (size_t i = 0; i < other.parts.size(); ++i)
    joined.parts[i] = Join(joined.parts[i], other.parts[i]);
  return joined;
}

void JoinRow(KindRow& a, const KindRow& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] = Join(a[i], b[i]);
}

Kind ListOf(DType dtype) { return {Kind::Type::kList, dtype, {Kind()}}; }

DType TypeAttr(const Node& node, absl::string_view name) {
  const DType* dtype = node.attrs.Get<DType>(name);
  return dtype == nullptr ? DType::kInvalid : *dtype;
}

// The flow that an op on an array makes has the element type that its attributes name.
KindRow OutputsOfArrayOp(const Node& node) {
  KindRow kinds(node.num_outputs());
  if (node.op == nullptr || node.op->outputs.empty()) return kinds;
  if (absl::StartsWith(node.op_name, "TensorArrayGrad"))
    kinds[0] = {Kind::Type::kGradientArray, DType::kInvalid, {}};
  if (!absl::StartsWith(node.op->outputs.back().name, "flow")) return kinds;
  const DType dtype = TypeAttr(node, node.attrs.Has("dtype") ? "dtype" : "T");
  if (dtype != DType::kInvalid) kinds.back() = {Kind::Type::kFlow, dtype, {}};
  return kinds;
}

// The list of `inputs` with what else may be an element of it.
Kind ListWith(const Kind& list, const Kind& element, DType dtype) {
  return Cut(Join(list, {Kind::Type::kList, dtype, {element}}));
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

std::string KindText(const Kind& kind) {
  switch (kind.type) {
    case Kind::Type::kOther:
      return "";
    case Kind::Type::kOptional:
      return "optional";
    case Kind::Type::kGradientArray:
      return "gradients";
    case Kind::Type::kFlow:
      return absl::StrCat("flow ", DTypeName(kind.dtype));
    case Kind::Type::kList: {
      const std::string element = kind.parts.empty() ? "" : KindText(kind.parts[0]);
      return absl::StrCat("list ", DTypeName(kind.dtype), element.empty() ? "" : " ", element);
    }
  }
  return "";
}

Kind ParseKind(absl::string_view text) {
  if (text == "gradients") return {Kind::Type::kGradientArray, DType::kInvalid, {}};
  if (text == "optional") return {Kind::Type::kOptional, DType::kInvalid, {}};
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  const DType dtype =
      words.size() < 2 ? DType::kInvalid : ParseDType(words[1]).value_or(DType::kInvalid);
  if (words[0] == "flow") return {Kind::Type::kFlow, dtype, {}};
  if (words[0] != "list") return {};
  return {Kind::Type::kList, dtype, {words.size() < 3 ? Kind() : ParseKind(words[2])}};
}

std::vector<std::string> KindTexts(const KindRow& kinds) {
  std::vector<std::string> texts;
  for (const Kind& kind : kinds) texts.push_back(KindText(kind));
  return texts;
}

bool operator<(const Kind& a, const Kind& b) {
  return std::tie(a.type, a.dtype, a.parts) < std::tie(b.type, b.dtype, b.parts);
}

Kinds::Kinds(const Program& program) : program_(program), has_any_(HasKinds(program.main())) {
  for (const auto& [name, function] : program.functions()) has_any_ |= HasKinds(*function);
}

std::vector<KindRow> Kinds::Of(const Function& function, const KindRow& args) {
  while (true) {
    is_stale_ = false;
    evaluated_.clear();
    std::vector<KindRow> kinds = Evaluate(function, args);
    if (!is_stale_) return kinds;
    for (Entry* const entry : evaluated_) entry->state = Entry::State::kOld;
  }
}

std::vector<KindRow> Kinds::Evaluate(const Function& function, const KindRow& args) {
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

KindRow Kinds::Outputs(const Node& node, const KindRow& inputs) {
  if (IsStructured(node.kind()))
    return OutputsOfStructured(node, {inputs.begin() + NumSelectorInputs(node), inputs.end()});
  if (absl::StartsWith(node.op_name, "TensorList") || node.op_name == "EmptyTensorList" ||
      absl::StartsWith(node.op_name, "_TensorList"))
    return OutputsOfListOp(node, inputs);
  if (IsArrayOp(node)) return OutputsOfArrayOp(node);
  const auto* texts = node.attrs.Get<std::vector<std::string>>(kKindsAttr);
  if (node.op_name == "OptionalFromValue")
    return {Cut({Kind::Type::kOptional, DType::kInvalid, texts == nullptr ? inputs : KindRow()})};
  if (node.op_name == "OptionalNone" || node.op_name == "_OptionalZero")
    return {{Kind::Type::kOptional, DType::kInvalid, {}}};
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
    for (const Kind& input : inputs) kinds[0] = Join(kinds[0], input);  // sums, choices
  }
  return kinds;
}

KindRow Kinds::OutputsOfStructured(const Node& node, const KindRow& args) {
  const bool is_loop = IsLoop(node.kind());
  KindRow outputs = is_loop ? args : KindRow(node.num_outputs());
  for (const Callee& callee : CalleesOf(program_, node)) {
    if (callee.is_condition()) continue;
    for (bool changed = true; changed;) {
      KindRow inputs = is_loop ? outputs : args;
      inputs.insert(inputs.begin(), NumCounterArgs(node), Kind());
      const KindRow before = outputs;
      JoinRow(outputs, Results(callee.function.name, inputs));
      changed = is_loop && outputs != before;
    }
  }
  return outputs;
}

KindRow Kinds::Results(const std::string& name, const KindRow& args) {
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

}  // namespace gyre::grad
