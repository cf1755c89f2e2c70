#include "graphdef/body_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "graphdef/names.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

// Attributes that only travel: what cannot be decoded is kept for export.
bool NotNeeded(const std::string&) { return false; }

using NodeDefs = google::protobuf::RepeatedPtrField<wire::NodeDef>;

// Outputs [begin, end) of one node: what an input in a function's body can name at once.
struct Outputs {
  NodeId node = -1;
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};

class BodyReader {
 public:
  // `instance` is null for the main graph.
  BodyReader(NodeReader& reader, const FunctionInstance* instance)
      : reader_(reader), instance_(instance) {}

  absl::StatusOr<Function> Read(const NodeDefs& defs) {
    if (instance_ != nullptr) GYRE_RETURN_IF_ERROR(ReadArguments(static_cast<size_t>(defs.size())));
    GYRE_RETURN_IF_ERROR(ReadNodes(defs));
    for (int i = 0; i < defs.size(); ++i) {
      Node& node = body_.nodes[first_ + static_cast<size_t>(i)];
      if (const absl::Status status = Connect(defs[i], node); !status.ok())
        return AtNode(status, node.name);
    }
    if (instance_ != nullptr) GYRE_RETURN_IF_ERROR(ReadResults());
    NameUnknownOutputs();
    if (const absl::Status status = CheckAcyclic(body_); !status.ok())
      return Annotate(status, Where());
    return std::move(body_);
  }

 private:
  std::string Where() const {
    return instance_ == nullptr ? "main graph" : absl::StrCat("function ", instance_->name);
  }
  absl::Status AtNode(const absl::Status& status, absl::string_view node) const {
    const std::string in = instance_ == nullptr ? "" : absl::StrCat(Where(), ", ");
    return Annotate(status, absl::StrCat(in, "node ", absl::Utf8SafeCHexEscape(node)));
  }

  absl::Status ReadArguments(size_t num_nodes);
  absl::Status ReadArgument(const FormalArg& input, int formal);
  absl::Status ReadNodes(const NodeDefs& defs);
  absl::Status AddNode(Node node, const FunctionInstance* callee);

  absl::Status Connect(const wire::NodeDef& def, Node& node);
  absl::Status ConnectData(const Outputs& outputs, Node& node);
  absl::Status CheckEdge(const Node& node, size_t input, const Node& source, int slot) const;
  absl::StatusOr<NodeId> FindNode(absl::string_view name) const;
  absl::StatusOr<Outputs> Resolve(const InputName& name);
  absl::StatusOr<Outputs> ResolveInBody(const InputName& name);
  absl::StatusOr<Outputs> OutputOfKnown(const Node& node, const InputName& name);
  absl::Status ListOutputs(const Node& node, HashMap<std::string, Outputs>& list) const;
  absl::StatusOr<Outputs> OutputOfUnknown(Node& node, const InputName& name);

  absl::Status ReadResults();
  absl::Status ReadResult(const FormalArg& formal);
  absl::Status ReadControlResults();
  void NameUnknownOutputs();

  NodeReader& reader_;
  const FunctionInstance* instance_;
  Function body_;
  size_t first_ = 0;  // of the nodes that the file lists; arguments stand before
  HashMap<std::string, NodeId> ids_;
  HashMap<std::string, Outputs> arguments_;       // begin and end count nodes here
  std::vector<const FunctionInstance*> callees_;  // by node
  // Of known ops, as asked for.
  HashMap<NodeId, HashMap<std::string, Outputs>> named_outputs_;
  struct UnknownOutputs {
    std::vector<std::string> names;  // by slot
    HashMap<std::string, int> slots;
  };
  HashMap<NodeId, UnknownOutputs> unknown_outputs_;
};

// The type that the file promises of what a resource argument holds, as attributes of its node.
void SetHandleAttrs(const wire::OpDef::ArgDef& arg, AttrMap& attrs) {
  if (arg.handle_data_size() != 1 || attrs.Has("_handle_dtypes")) return;
  const absl::StatusOr<DType> dtype = DecodeDType(arg.handle_data(0).dtype());
  const absl::StatusOr<PartialShape> shape = DecodeShape(arg.handle_data(0).shape());
  if (!dtype.ok() || !shape.ok()) return;  // a hint only
  attrs.Set("_handle_dtypes", std::vector<DType>{*dtype});
  attrs.Set("_handle_shapes", std::vector<PartialShape>{*shape});
}

absl::Status BodyReader::ReadArguments(size_t num_nodes) {
  for (size_t i = 0; i < instance_->inputs.size(); ++i) {
    const FormalArg& input = instance_->inputs[i];
    if (const absl::Status status = ReadArgument(input, static_cast<int>(i)); !status.ok()) {
      return Annotate(status, absl::StrCat(Where(), ", argument ", input.name));
    }
  }
  first_ = body_.nodes.size();
  body_.nodes.reserve(first_ + num_nodes);
  return absl::OkStatus();
}

absl::Status BodyReader::ReadArgument(const FormalArg& input, int formal) {
  const wire::FunctionDef& def = *instance_->def;
  FunctionArg arg;
  if (const auto it = def.arg_attr().find(static_cast<uint32_t>(formal));
      it != def.arg_attr().end()) {
    WireAttrs kept;  // FunctionExtra keeps what this loses
    GYRE_ASSIGN_OR_RETURN(arg.attrs,
                          DecodeAttrs(it->second.attr(), reader_.limits(), &kept, NotNeeded));
  }
  if (const auto* shapes = arg.attrs.Get<std::vector<PartialShape>>("_output_shapes");
      shapes != nullptr && shapes->size() == 1) {
    arg.shape = (*shapes)[0];
  }
  AttrMap node_attrs = arg.attrs;
  SetHandleAttrs(def.signature().input_arg(formal), node_attrs);
  GYRE_RETURN_IF_ERROR(reader_.ChargeSlots(input.slots.size()));
  const int begin = static_cast<int>(body_.nodes.size());
  for (size_t i = 0; i < input.slots.size(); ++i) {
    arg.name = input.SlotName(i);
    arg.dtype = input.slots[i].dtype;
    arg.is_ref = input.slots[i].is_ref;
    Node node;
    node.name = arg.name;
    node.op_name = "_Arg";
    node.op = reader_.ops().Find(node.op_name);
    node.attrs = node_attrs;
    node.attrs.Set("T", arg.dtype);
    node.attrs.Set("index", static_cast<int64_t>(body_.args.size()));
    node.signature.outputs = {input.slots[i]};
    body_.args.push_back(arg);
    body_.arg_nodes.push_back(static_cast<NodeId>(body_.nodes.size()));
    GYRE_RETURN_IF_ERROR(AddNode(std::move(node), nullptr));
  }
  arguments_[input.name] = {-1, begin, static_cast<int>(body_.nodes.size())};
  return absl::OkStatus();
}

absl::Status BodyReader::ReadNodes(const NodeDefs& defs) {
  for (const wire::NodeDef& def : defs) {
    absl::StatusOr<ReadNode> read =
        reader_.Read(def, instance_ == nullptr ? nullptr : &instance_->bindings);
    absl::Status status = read.status();
    if (status.ok()) status = AddNode(std::move(read->node), read->callee);
    if (!status.ok()) return AtNode(status, def.name());
  }
  return absl::OkStatus();
}

absl::Status BodyReader::AddNode(Node node, const FunctionInstance* callee) {
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  node.id = static_cast<NodeId>(body_.nodes.size());
  if (!ids_.emplace(node.name, node.id).second) {
    return absl::InvalidArgumentError("two nodes have this name");
  }
  body_.nodes.push_back(std::move(node));
  callees_.push_back(callee);
  return absl::OkStatus();
}

absl::Status BodyReader::Connect(const wire::NodeDef& def, Node& node) {
  HashSet<NodeId> control_inputs;
  for (const std::string& text : def.input()) {
    const std::optional<InputName> name =
        instance_ == nullptr ? ParseGraphInput(text) : ParseFunctionInput(text);
    if (!name) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", absl::Utf8SafeCHexEscape(text), "' does not name an input"));
    }
    if (name->is_control) {
      GYRE_ASSIGN_OR_RETURN(const NodeId id, FindNode(name->node));
      if (control_inputs.insert(id).second) node.control_inputs.push_back(id);
      continue;
    }
    if (!node.control_inputs.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", text, " stands after a control input; control inputs come last"));
    }
    GYRE_ASSIGN_OR_RETURN(const Outputs outputs, Resolve(*name));
    GYRE_RETURN_IF_ERROR(ConnectData(outputs, node));
  }
  if (node.op != nullptr && node.inputs.size() != node.signature.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("needs ", node.signature.inputs.size(),
                                                   " inputs, but the file lists ",
                                                   node.inputs.size()));
  }
  return absl::OkStatus();
}

absl::Status BodyReader::ConnectData(const Outputs& outputs, Node& node) {
  const bool is_known = node.op != nullptr;
  if (!is_known) GYRE_RETURN_IF_ERROR(reader_.ChargeSlots(static_cast<size_t>(outputs.size())));
  for (int i = outputs.begin; i < outputs.end; ++i) {
    // A list argument consists of one node per element.
    const Endpoint source = outputs.node < 0 ? Endpoint{i, 0} : Endpoint{outputs.node, i};
    const Node& producer = body_.nodes[source.node];
    const size_t input = node.inputs.size();
    if (!is_known) {
      node.signature.inputs.push_back(producer.signature.outputs[source.slot]);
    } else if (input >= node.signature.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("needs ", node.signature.inputs.size(), " inputs, but the file lists more"));
    } else {
      GYRE_RETURN_IF_ERROR(CheckEdge(node, input, producer, source.slot));
    }
    node.inputs.push_back(source);
  }
  return absl::OkStatus();
}

absl::Status BodyReader::CheckEdge(const Node& node, size_t input, const Node& source,
                                   int slot) const {
  const NodeSignature::Slot& wants = node.signature.inputs[input];
  const NodeSignature::Slot& has = source.signature.outputs[slot];
  if (has.dtype == DType::kInvalid) return absl::OkStatus();  // the producer's op is not known
  if (wants.dtype != has.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " must be ", DTypeName(wants.dtype), ", but output ", slot,
                     " of node ", source.name, " is ", DTypeName(has.dtype)));
  }
  if (wants.is_ref && !has.is_ref) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " must be a reference to a variable, but output ", slot,
                     " of node ", source.name, " is a value"));
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeId> BodyReader::FindNode(absl::string_view name) const {
  const auto it = ids_.find(name);
  if (it != ids_.end()) return it->second;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no node named '", absl::Utf8SafeCHexEscape(name), "'"));
}

absl::StatusOr<Outputs> BodyReader::Resolve(const InputName& name) {
  if (instance_ != nullptr) return ResolveInBody(name);
  GYRE_ASSIGN_OR_RETURN(const NodeId id, FindNode(name.node));
  Node& node = body_.nodes[id];
  const int slot = name.index.value_or(0);
  if (node.op == nullptr && slot >= node.num_outputs()) {
    GYRE_RETURN_IF_ERROR(reader_.ChargeSlots(static_cast<size_t>(slot) + 1));
    node.signature.outputs.resize(static_cast<size_t>(slot) + 1);
  }
  if (slot >= node.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no output ", slot, " of node ",
                                                   node.name, ", which has ", node.num_outputs()));
  }
  return Outputs{id, slot, slot + 1};
}

absl::StatusOr<Outputs> BodyReader::ResolveInBody(const InputName& name) {
  if (const auto it = arguments_.find(name.node); it != arguments_.end() && name.output.empty()) {
    const Outputs& all = it->second;
    if (!name.index) return all;
    if (*name.index < all.size())
      return Outputs{-1, all.begin + *name.index, all.begin + *name.index + 1};
    return absl::InvalidArgumentError(absl::StrCat("there is no element ", *name.index,
                                                   " of argument ", name.node, ", which has ",
                                                   all.size()));
  }
  GYRE_ASSIGN_OR_RETURN(const NodeId id, FindNode(name.node));
  Node& node = body_.nodes[id];
  if (name.output.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name.node, "' is not an argument; an output of a node is written node:output:0"));
  }
  if (node.op == nullptr) return OutputOfUnknown(node, name);
  GYRE_ASSIGN_OR_RETURN(const Outputs all, OutputOfKnown(node, name));
  if (!name.index) return all;
  if (*name.index < all.size())
    return Outputs{id, all.begin + *name.index, all.begin + *name.index + 1};
  return absl::InvalidArgumentError(absl::StrCat("there is no element ", *name.index, " of output ",
                                                 name.output, " of node ", name.node,
                                                 ", which has ", all.size()));
}

absl::StatusOr<Outputs> BodyReader::OutputOfKnown(const Node& node, const InputName& name) {
  const auto [it, is_new] = named_outputs_.try_emplace(node.id);
  if (is_new) GYRE_RETURN_IF_ERROR(ListOutputs(node, it->second));
  if (const auto found = it->second.find(name.output); found != it->second.end())
    return found->second;
  return absl::InvalidArgumentError(absl::StrCat("node ", node.name, " has no output named '",
                                                 absl::Utf8SafeCHexEscape(name.output), "'"));
}

absl::Status BodyReader::ListOutputs(const Node& node, HashMap<std::string, Outputs>& list) const {
  if (const FunctionInstance* callee = callees_[node.id]; callee != nullptr) {
    int begin = 0;
    for (const FormalArg& formal : callee->outputs) {
      const int end = begin + static_cast<int>(formal.slots.size());
      list.emplace(formal.name, Outputs{node.id, begin, end});
      begin = end;
    }
    return absl::OkStatus();
  }
  for (size_t i = 0; i < node.op->outputs.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const auto range,
                          ArgRange(*node.op, node.attrs, /*is_output=*/true, static_cast<int>(i)));
    list.emplace(node.op->outputs[i].name, Outputs{node.id, range.first, range.second});
  }
  return absl::OkStatus();
}

// Every spelling of an output of an unknown op counts as one output, in order of first mention.
absl::StatusOr<Outputs> BodyReader::OutputOfUnknown(Node& node, const InputName& name) {
  const std::string text =
      name.index ? absl::StrCat(name.output, ":", *name.index) : std::string(name.output);
  UnknownOutputs& known = unknown_outputs_[node.id];
  const auto [it, is_new] = known.slots.emplace(text, static_cast<int>(known.names.size()));
  if (is_new) {
    known.names.push_back(text);
    node.signature.outputs.resize(known.names.size());
  }
  return Outputs{node.id, it->second, it->second + 1};
}

void BodyReader::NameUnknownOutputs() {
  for (auto& [id, known] : unknown_outputs_) {
    body_.nodes[id].attrs.Set(kOutputNamesAttr, std::move(known.names));
  }
}

absl::Status BodyReader::ReadResults() {
  for (const FormalArg& formal : instance_->outputs) {
    if (const absl::Status status = ReadResult(formal); !status.ok()) {
      return Annotate(status, absl::StrCat(Where(), ", result ", formal.name));
    }
  }
  return ReadControlResults();
}

absl::Status BodyReader::ReadResult(const FormalArg& formal) {
  const auto ret = instance_->def->ret().find(formal.name);
  if (ret == instance_->def->ret().end())
    return absl::InvalidArgumentError("the function does not return it");
  const std::optional<InputName> name = ParseFunctionInput(ret->second);
  if (!name || name->is_control) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::Utf8SafeCHexEscape(ret->second), "' does not name a value"));
  }
  GYRE_ASSIGN_OR_RETURN(const Outputs outputs, ResolveInBody(*name));
  if (static_cast<size_t>(outputs.size()) != formal.slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", ret->second, "' names ", outputs.size(),
                                                   " values, the signature wants ",
                                                   formal.slots.size()));
  }
  for (size_t i = 0; i < formal.slots.size(); ++i) {
    const int at = outputs.begin + static_cast<int>(i);
    const Endpoint value = outputs.node < 0 ? Endpoint{at, 0} : Endpoint{outputs.node, at};
    const DType dtype = body_.nodes[value.node].signature.outputs[value.slot].dtype;
    if (dtype != formal.slots[i].dtype && dtype != DType::kInvalid) {
      return absl::InvalidArgumentError(absl::StrCat("'", ret->second, "' is ", DTypeName(dtype),
                                                     ", the signature wants ",
                                                     DTypeName(formal.slots[i].dtype)));
    }
    body_.results.push_back({formal.SlotName(i), formal.slots[i].dtype, value});
  }
  return absl::OkStatus();
}

absl::Status BodyReader::ReadControlResults() {
  const auto& control_ret = instance_->def->control_ret();
  std::map<std::string, std::string> rest(control_ret.begin(), control_ret.end());
  const auto add = [&](const std::string& name, const std::string& node) -> absl::Status {
    const absl::StatusOr<NodeId> id = FindNode(node);
    if (!id.ok()) return Annotate(id.status(), absl::StrCat(Where(), ", control output ", name));
    body_.control_results.emplace_back(name, *id);
    return absl::OkStatus();
  };
  for (const std::string& name : instance_->def->signature().control_output()) {
    const auto it = rest.find(name);
    if (it == rest.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Where(), ", control output ", name, ": the function does not return it"));
    }
    GYRE_RETURN_IF_ERROR(add(name, it->second));
    rest.erase(it);
  }
  for (const auto& [name, node] : rest) GYRE_RETURN_IF_ERROR(add(name, node));
  return absl::OkStatus();
}

// What of the FunctionDef is not a member of Function: descriptions, handle data, unknown fields.
// Of the signature of a generic function nothing stays: the instance's arguments are others.
absl::StatusOr<std::string> FunctionExtra(const FunctionInstance& instance, WireAttrs kept,
                                          DecodeLimits& limits) {
  const wire::FunctionDef& def = *instance.def;
  google::protobuf::Arena arena;
  auto& extra = *google::protobuf::Arena::CreateMessage<wire::FunctionDef>(&arena);
  wire::OpDef& signature = *extra.mutable_signature();
  signature = def.signature();
  signature.clear_name();
  signature.clear_description();
  signature.clear_is_stateful();
  signature.clear_control_output();
  signature.clear_attr();
  const auto strip = [&](auto* args) {
    for (wire::OpDef::ArgDef& arg : *args) {
      arg.clear_name();
      arg.clear_type();
    }
    const bool is_bare = std::all_of(args->begin(), args->end(),
                                     [](const auto& arg) { return arg.ByteSizeLong() == 0; });
    if (is_bare || instance.is_generic()) args->Clear();
  };
  strip(signature.mutable_input_arg());
  strip(signature.mutable_output_arg());
  if (signature.ByteSizeLong() == 0) extra.clear_signature();
  extra.mutable_attr()->swap(kept);
  if (!instance.is_generic())
    *extra.mutable_resource_arg_unique_id() = def.resource_arg_unique_id();
  for (const auto& [index, arg] : def.arg_attr()) {
    WireAttrs kept_of_arg;
    GYRE_RETURN_IF_ERROR(DecodeAttrs(arg.attr(), limits, &kept_of_arg, NotNeeded).status());
    if (!kept_of_arg.empty()) (*extra.mutable_arg_attr())[index].mutable_attr()->swap(kept_of_arg);
  }
  CopyUnknownFields(def, &extra);
  return SerializeExtra(extra);
}

}  // namespace

absl::StatusOr<Function> ReadMainGraph(const wire::GraphDef& graph, NodeReader& reader) {
  return BodyReader(reader, nullptr).Read(graph.node());
}

absl::StatusOr<Function> ReadFunction(const FunctionInstance& instance, NodeReader& reader) {
  GYRE_ASSIGN_OR_RETURN(Function function,
                        BodyReader(reader, &instance).Read(instance.def->node_def()));
  function.name = instance.name;
  function.doc = instance.def->signature().description();
  function.stateful = instance.stateful;
  WireAttrs kept;
  GYRE_ASSIGN_OR_RETURN(function.attrs,
                        DecodeAttrs(instance.def->attr(), reader.limits(), &kept, NotNeeded));
  GYRE_ASSIGN_OR_RETURN(function.wire_extra,
                        FunctionExtra(instance, std::move(kept), reader.limits()));
  return function;
}

}  // namespace gyre
