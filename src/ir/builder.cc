#include "ir/builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/type_attrs.h"

namespace gyre {

FunctionBuilder::FunctionBuilder(const OpLookup& ops, std::string name) : ops_(ops) {
  function_.name = std::move(name);
}

FunctionBuilder::FunctionBuilder(const OpLookup& ops, Function function)
    : ops_(ops), function_(std::move(function)) {
  for (const Node& node : function_.nodes) names_.emplace(node.name, 0);
  for (const FunctionResult& result : function_.results) result_names_.insert(result.name);
}

std::string FunctionBuilder::UniqueName(absl::string_view wanted) {
  std::string name(wanted);
  if (names_.emplace(name, 0).second) return name;
  // Where the last search for this name ended: many nodes of one op take linear time.
  for (int i = names_[name] + 1;; ++i) {
    std::string numbered = absl::StrCat(wanted, "_", i);
    if (!names_.emplace(numbered, 0).second) continue;
    names_[name] = i;
    return numbered;
  }
}

NodeId FunctionBuilder::Append(Node node) {
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  node.id = static_cast<NodeId>(function_.nodes.size());
  node.name = UniqueName(node.name);
  if (node.op != nullptr && node.op->stateful()) function_.stateful = true;
  function_.nodes.push_back(std::move(node));
  return function_.nodes.back().id;
}

Endpoint FunctionBuilder::Arg(absl::string_view name, DType dtype, PartialShape shape,
                              bool is_ref) {
  Node node;
  node.name = std::string(name);
  node.op_name = "_Arg";
  node.op = ops_.Find("_Arg");
  node.attrs.Set("T", dtype);
  node.attrs.Set("index", static_cast<int64_t>(function_.args.size()));
  node.signature.outputs.push_back({dtype, is_ref});
  const NodeId id = Append(std::move(node));
  function_.arg_nodes.push_back(id);
  function_.args.push_back({function_.nodes[id].name, dtype, is_ref, std::move(shape), {}});
  return {id, 0};
}

void FunctionBuilder::OrderArgs(size_t fixed, absl::Span<const Endpoint> order) {
  std::vector<FunctionArg> args(function_.args.begin(), function_.args.begin() + fixed);
  std::vector<NodeId> nodes(function_.arg_nodes.begin(), function_.arg_nodes.begin() + fixed);
  for (const Endpoint& arg : order) {
    const int64_t index = *node(arg.node).attrs.Get<int64_t>("index");
    args.push_back(std::move(function_.args[index]));
    nodes.push_back(arg.node);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    function_.nodes[nodes[i]].attrs.Set("index", static_cast<int64_t>(i));
  function_.args = std::move(args);
  function_.arg_nodes = std::move(nodes);
}

NodeId FunctionBuilder::Copy(const Node& node, std::vector<Endpoint> inputs,
                             std::vector<NodeId> control_inputs) {
  Node copy = node;
  copy.inputs = std::move(inputs);
  copy.control_inputs = std::move(control_inputs);
  return Append(std::move(copy));
}

namespace {

// What a structured node is given as a reference, its functions get as one.
void HandOnReferences(const std::vector<NodeSignature::Slot>& inputs, Node& node) {
  const size_t selectors = NumSelectorInputs(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    node.signature.inputs[i].is_ref = inputs[i].is_ref;
    if (IsLoop(node.kind()) && i >= selectors)
      node.signature.outputs[i - selectors].is_ref = inputs[i].is_ref;
  }
}

}  // namespace

absl::StatusOr<NodeId> FunctionBuilder::Add(absl::string_view op, absl::Span<const Endpoint> inputs,
                                            AttrMap attrs, NodeOptions options) {
  GYRE_ASSIGN_OR_RETURN(Node node, Make(op, inputs, std::move(attrs), std::move(options)));
  return Append(std::move(node));
}

absl::StatusOr<Node> FunctionBuilder::Make(absl::string_view op_name,
                                           absl::Span<const Endpoint> inputs, AttrMap attrs,
                                           NodeOptions options) const {
  Node node;
  node.name = options.name.empty() ? std::string(op_name) : std::move(options.name);
  node.op_name = std::string(op_name);
  node.op = ops_.Find(op_name);
  if (node.op == nullptr)
    return absl::NotFoundError(absl::StrCat("there is no op called ", op_name));
  node.inputs.assign(inputs.begin(), inputs.end());
  std::vector<NodeSignature::Slot> slots;
  for (const Endpoint& input : inputs)
    slots.push_back(this->node(input.node).signature.outputs[input.slot]);
  for (const auto& [name, value] : DeduceTypeAttrs(*node.op, slots, {})) {
    if (!attrs.Has(name)) attrs.Set(name, value);
  }
  node.attrs = std::move(attrs);
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*node.op, node.attrs));
  if (node.signature.inputs.size() != slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat(op_name, " takes ", node.signature.inputs.size(),
                                                   " inputs, not ", slots.size()));
  }
  if (IsStructured(node.kind())) HandOnReferences(slots, node);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].dtype != node.signature.inputs[i].dtype) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " of ", op_name, " must be ",
                                                     DTypeName(node.signature.inputs[i].dtype),
                                                     ", not ", DTypeName(slots[i].dtype)));
    }
  }
  node.control_inputs = std::move(options.control_inputs);
  node.device = std::move(options.device);
  node.source = std::move(options.source);
  return node;
}

absl::StatusOr<Endpoint> FunctionBuilder::Add1(absl::string_view op,
                                               absl::Span<const Endpoint> inputs, AttrMap attrs,
                                               NodeOptions options) {
  GYRE_ASSIGN_OR_RETURN(const NodeId id, Add(op, inputs, std::move(attrs), std::move(options)));
  return Endpoint{id, 0};
}

Endpoint FunctionBuilder::Constant(const Tensor& value, NodeOptions options) {
  Node node;
  node.name = options.name.empty() ? "Const" : std::move(options.name);
  node.op_name = "Const";
  node.op = ops_.Find("Const");
  node.attrs.Set("dtype", value.dtype());
  node.attrs.Set("value", value);
  node.signature.outputs.push_back({value.dtype(), false});
  node.control_inputs = std::move(options.control_inputs);
  node.device = std::move(options.device);
  node.source = std::move(options.source);
  return {Append(std::move(node)), 0};
}

void FunctionBuilder::Replace(NodeId id, Node node) {
  node.id = id;
  node.name = std::move(function_.nodes[id].name);
  function_.nodes[id] = std::move(node);
}

absl::Status FunctionBuilder::SetInput(NodeId id, int slot, Endpoint input) {
  Node& node = function_.nodes[id];
  if (slot < 0 || slot >= static_cast<int>(node.inputs.size())) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node.name, " has no input ", slot));
  }
  if (dtype(input) != node.signature.inputs[slot].dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", slot, " of node ", node.name, " must be ",
        DTypeName(node.signature.inputs[slot].dtype), ", not ", DTypeName(dtype(input))));
  }
  node.inputs[slot] = input;
  return absl::OkStatus();
}

void FunctionBuilder::AddControlInput(NodeId node, NodeId control) {
  function_.nodes[node].control_inputs.push_back(control);
}

void FunctionBuilder::Return(absl::string_view name, Endpoint value) {
  std::string unique(name);
  for (int i = 1; !result_names_.insert(unique).second; ++i) unique = absl::StrCat(name, "_", i);
  function_.results.push_back({std::move(unique), dtype(value), value});
}

void FunctionBuilder::ReturnControl(absl::string_view name, NodeId node) {
  function_.control_results.emplace_back(std::string(name), node);
}

Function FunctionBuilder::Build() { return std::move(function_); }

}  // namespace gyre
