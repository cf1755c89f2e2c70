#include "passes/edit/interface.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/calls.h"

namespace gyre::passes {
namespace {

// Lists of one shape per output.
constexpr absl::string_view kShapeLists[] = {"output_shapes", "_output_shapes"};

void SetTypes(const std::vector<ArgDef>& args, const std::vector<DType>& types, AttrMap& attrs) {
  for (const ArgDef& arg : args) {
    if (!arg.type_list_attr.empty()) attrs.Set(arg.type_list_attr, types);
  }
}

template <typename T>
void Keep(const std::vector<bool>& which, std::vector<T>& items) {
  size_t kept = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!which[i]) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.resize(kept);
}

// What went in and came out as a reference still does: schemas know of none.
void KeepReferences(const Node& structured, const StructuredInterface& wanted, Node& node) {
  for (size_t i = 0; i < structured.inputs.size(); ++i) {
    if (!structured.signature.inputs[i].is_ref) continue;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      node.signature.inputs[k].is_ref |= node.inputs[k] == structured.inputs[i];
  }
  for (size_t k = 0; k < wanted.outputs_from.size(); ++k) {
    const int from = wanted.outputs_from[k];
    if (from >= 0) node.signature.outputs[k].is_ref = structured.signature.outputs[from].is_ref;
  }
}

}  // namespace

StructuredInterface InterfaceOf(const Node& structured) {
  StructuredInterface interface;
  for (size_t i = NumSelectorInputs(structured); i < structured.inputs.size(); ++i) {
    interface.args.push_back(structured.inputs[i]);
    interface.arg_types.push_back(structured.signature.inputs[i].dtype);
  }
  for (int slot = 0; slot < structured.num_outputs(); ++slot) {
    interface.output_types.push_back(structured.signature.outputs[slot].dtype);
    interface.outputs_from.push_back(slot);
  }
  return interface;
}

absl::StatusOr<Node> WithInterface(const Node& structured, const StructuredInterface& wanted) {
  Node node = structured;
  node.inputs.resize(NumSelectorInputs(structured));
  node.inputs.insert(node.inputs.end(), wanted.args.begin(), wanted.args.end());
  SetTypes(node.op->inputs, wanted.arg_types, node.attrs);
  SetTypes(node.op->outputs, wanted.output_types, node.attrs);
  for (const absl::string_view name : kShapeLists) {
    const auto* shapes = structured.attrs.Get<std::vector<PartialShape>>(name);
    if (shapes == nullptr || shapes->size() != static_cast<size_t>(structured.num_outputs()))
      continue;
    std::vector<PartialShape> kept;
    for (const int from : wanted.outputs_from)
      kept.push_back(from < 0 ? PartialShape::Unknown() : (*shapes)[from]);
    node.attrs.Set(name, std::move(kept));
  }
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*node.op, node.attrs));
  KeepReferences(structured, wanted, node);
  return node;
}

absl::Status ReplaceStructured(NodeId structured, const StructuredInterface& wanted,
                               const std::vector<bool>& keep_waiting, Rewrite& rewrite) {
  GYRE_ASSIGN_OR_RETURN(Node node, WithInterface(rewrite.node(structured), wanted));
  for (const Endpoint& e : rewrite.node(structured).inputs) {
    const bool is_left_out =
        std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Endpoint& kept) { return kept.node == e.node; });
    if (is_left_out && static_cast<size_t>(e.node) < keep_waiting.size() && keep_waiting[e.node])
      node.control_inputs.push_back(e.node);
  }
  const NodeId id = rewrite.Add(std::move(node), structured);
  for (size_t i = 0; i < wanted.outputs_from.size(); ++i) {
    if (wanted.outputs_from[i] < 0) continue;
    rewrite.Replace({structured, wanted.outputs_from[i]}, {id, static_cast<int>(i)});
  }
  rewrite.Drop(structured, {id});
  return absl::OkStatus();
}

void KeepInterface(const std::vector<bool>& args, const std::vector<bool>& results,
                   Rewrite& rewrite) {
  Function& function = rewrite.EditInterface();
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) rewrite.Drop(function.arg_nodes[i], {});
  }
  if (std::count(args.begin(), args.end(), false) > 0) {
    Keep(args, function.args);
    Keep(args, function.arg_nodes);
    for (size_t i = 0; i < function.arg_nodes.size(); ++i)
      function.nodes[function.arg_nodes[i]].attrs.Set("index", static_cast<int64_t>(i));
    function.attrs.Erase("_input_shapes");
  }
  Keep(results, function.results);
}

Endpoint AddArgument(absl::string_view name, DType dtype, const OpLookup& ops, Rewrite& rewrite) {
  Node node;
  node.name = std::string(name);
  node.op_name = "_Arg";
  node.op = ops.Find("_Arg");
  node.attrs.Set("T", dtype);
  node.attrs.Set("index", static_cast<int64_t>(rewrite.function().args.size()));
  node.signature.outputs.push_back({dtype, false});
  // Behind the arguments that there are, for whoever reads the function.
  NodeId before = 0;
  for (const NodeId arg : rewrite.function().arg_nodes) {
    if (arg < rewrite.num_old_nodes()) before = arg + 1;
  }
  const NodeId id = rewrite.Add(std::move(node), before);
  Function& function = rewrite.EditInterface();
  function.arg_nodes.push_back(id);
  function.args.push_back({std::string(name), dtype, false, PartialShape::Unknown(), {}});
  function.attrs.Erase("_input_shapes");
  return {id, 0};
}

void AddResult(absl::string_view name, DType dtype, Endpoint value, Rewrite& rewrite) {
  rewrite.EditInterface().results.push_back({std::string(name), dtype, value});
}

absl::StatusOr<Node> CallInstead(const OpLookup& ops, const Node& structured,
                                 const FunctionRef& function, bool has_effects,
                                 std::vector<Endpoint> args, std::vector<DType> arg_types) {
  Node node;
  node.name = structured.name;
  node.op_name = has_effects ? "StatefulPartitionedCall" : "PartitionedCall";
  node.op = ops.Find(node.op_name);
  node.inputs = std::move(args);
  node.control_inputs = structured.control_inputs;
  node.device = structured.device;
  node.source = structured.source;
  node.attrs.Set("f", function);
  node.attrs.Set("Tin", std::move(arg_types));
  node.attrs.Set("Tout", InterfaceOf(structured).output_types);
  if (node.op == nullptr) return BugError(absl::StrCat("there is no op ", node.op_name));
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*node.op, node.attrs));
  return node;
}

}  // namespace gyre::passes
