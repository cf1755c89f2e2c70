#include "graphdef/body_writer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "base/work.h"
#include "graphdef/attr_proto.h"
#include "graphdef/names.h"
#include "graphdef/node_reader.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

// The names of a function's results, made valid and unique: its callers and its own signature
// agree.
std::vector<std::string> ResultNames(const Function& function) {
  NameTable table;
  std::vector<std::string> names;
  for (const FunctionResult& result : function.results) names.push_back(table.Claim(result.name));
  return names;
}

class BodyWriter {
 public:
  BodyWriter(const Program& program, const Function& function, bool is_main)
      : program_(program), function_(function), is_main_(is_main) {}

  // Fixes all names; call it first. Arguments keep theirs in preference to other nodes.
  void ChooseNames();
  const std::string& name_of(NodeId id) const { return names_[id]; }
  bool IsArgument(NodeId id) const { return is_argument_[id]; }

  absl::Status WriteNode(const Node& node, wire::NodeDef* def);
  // How an input, or a result of the function, names this value.
  absl::StatusOr<std::string> Spell(Endpoint value);

 private:
  absl::Status WriteInputs(const Node& node, wire::NodeDef* def);
  absl::StatusOr<std::vector<std::string>> SpellOutputs(const Node& node) const;
  // The function that `node` is to call by name; null when it is an ordinary node.
  const Function* LegacyCallee(const Node& node) const;

  const Program& program_;
  const Function& function_;
  const bool is_main_;
  std::vector<std::string> names_;               // by node
  std::vector<bool> is_argument_;                // by node
  std::vector<std::vector<std::string>> spelt_;  // by node: "output:0" of each slot, once asked for
};

void BodyWriter::ChooseNames() {
  const std::vector<Node>& nodes = function_.nodes;
  NameTable table;
  names_.resize(nodes.size());
  spelt_.resize(nodes.size());
  is_argument_.resize(nodes.size());
  for (size_t i = 0; i < function_.arg_nodes.size(); ++i) {
    const NodeId id = function_.arg_nodes[i];
    is_argument_[id] = true;
    names_[id] = table.Claim(function_.args[i].name);
  }
  const auto is_open = [&](const Node& node) { return names_[node.id].empty(); };
  for (const Node& node : nodes) {
    if (is_open(node) && IsValidNodeName(node.name) && table.Reserve(node.name))
      names_[node.id] = node.name;
  }
  for (const Node& node : nodes) {
    if (is_open(node)) names_[node.id] = table.Claim(node.name);
  }
}

const Function* BodyWriter::LegacyCallee(const Node& node) const {
  const FunctionRef* f = node.attrs.Get<FunctionRef>("f");
  if (node.kind() != OpKind::kCall || f == nullptr ||
      !node.attrs.GetOr<bool>(kLegacyCallAttr, false)) {
    return nullptr;
  }
  return program_.FindFunction(f->name);
}

absl::Status BodyWriter::WriteNode(const Node& node, wire::NodeDef* def) {
  SpendWork(1 + static_cast<int64_t>(node.inputs.size()));
  SpendWorkMemory(kWorkBytesOfNode);
  GYRE_RETURN_IF_ERROR(ParseExtra(node.wire_extra, absl::StrCat("node ", node.name), def));
  const Function* callee = LegacyCallee(node);
  def->set_name(names_[node.id]);
  def->set_op(callee != nullptr ? callee->name : node.op_name);
  def->set_device(node.device);
  absl::Status status = WriteInputs(node, def);
  if (status.ok()) {
    status = EncodeAttrs(node.attrs, def->mutable_attr(), [&](const std::string& name) {
      if (name == kLegacyCallAttr || (name == kOutputNamesAttr && node.op == nullptr)) return false;
      return callee == nullptr || node.op->FindAttr(name) == nullptr;
    });
  }
  return Annotate(status, absl::StrCat("node ", node.name));
}

absl::Status BodyWriter::WriteInputs(const Node& node, wire::NodeDef* def) {
  for (const Endpoint& input : node.inputs) {
    GYRE_ASSIGN_OR_RETURN(*def->add_input(), Spell(input));
  }
  for (const NodeId input : node.control_inputs) def->add_input(absl::StrCat("^", names_[input]));
  return absl::OkStatus();
}

absl::StatusOr<std::string> BodyWriter::Spell(Endpoint value) {
  const std::string& name = names_[value.node];
  if (is_main_) return value.slot == 0 ? name : absl::StrCat(name, ":", value.slot);
  if (is_argument_[value.node]) return name;
  const Node& node = function_.nodes[value.node];
  std::vector<std::string>& outputs = spelt_[value.node];
  if (outputs.empty()) {
    GYRE_ASSIGN_OR_RETURN(outputs, SpellOutputs(node));
  }
  if (value.slot < 0 || static_cast<size_t>(value.slot) >= outputs.size()) {
    return BugError(absl::StrCat("node ", node.name, " has no output ", value.slot));
  }
  return absl::StrCat(name, ":", outputs[static_cast<size_t>(value.slot)]);
}

absl::StatusOr<std::vector<std::string>> BodyWriter::SpellOutputs(const Node& node) const {
  std::vector<std::string> outputs;
  if (const Function* callee = LegacyCallee(node); callee != nullptr) {
    for (const std::string& name : ResultNames(*callee))
      outputs.push_back(absl::StrCat(name, ":0"));
    return outputs;
  }
  if (node.op == nullptr) {
    outputs = node.attrs.GetOr<std::vector<std::string>>(kOutputNamesAttr, {});
    for (size_t i = outputs.size(); i < node.signature.outputs.size(); ++i) {
      outputs.push_back(absl::StrCat("output:", i));
    }
    return outputs;
  }
  for (size_t arg = 0; arg < node.op->outputs.size(); ++arg) {
    GYRE_ASSIGN_OR_RETURN(const auto range, ArgRange(*node.op, node.attrs, /*is_output=*/true,
                                                     static_cast<int>(arg)));
    for (int i = 0; i < range.second - range.first; ++i) {
      outputs.push_back(absl::StrCat(node.op->outputs[arg].name, ":", i));
    }
  }
  return outputs;
}

// The element that `kept`, from an import, has for argument `i`, when it has one for each.
void ResizeArgs(google::protobuf::RepeatedPtrField<wire::OpDef::ArgDef>* kept, size_t size) {
  if (static_cast<size_t>(kept->size()) != size) kept->Clear();
  while (static_cast<size_t>(kept->size()) < size) kept->Add();
}

absl::Status WriteArguments(const Function& function, const BodyWriter& writer,
                            wire::FunctionDef* def) {
  auto* args = def->mutable_signature()->mutable_input_arg();
  ResizeArgs(args, function.args.size());
  google::protobuf::Map<uint32_t, wire::FunctionDef::ArgAttrs> kept;
  kept.swap(*def->mutable_arg_attr());
  for (size_t i = 0; i < function.args.size(); ++i) {
    const FunctionArg& arg = function.args[i];
    wire::OpDef::ArgDef* out = args->Mutable(static_cast<int>(i));
    out->set_name(writer.name_of(function.arg_nodes[i]));
    out->set_type(static_cast<wire::DataType>(arg.dtype));
    out->set_is_ref(arg.is_ref);
    AttrMap attrs = arg.attrs;
    if (arg.shape.has_rank() && !attrs.Has("_output_shapes")) {
      attrs.Set("_output_shapes", std::vector<PartialShape>{arg.shape});
    }
    if (attrs.empty()) continue;
    wire::FunctionDef::ArgAttrs& out_attrs = (*def->mutable_arg_attr())[static_cast<uint32_t>(i)];
    out_attrs.Swap(&kept[static_cast<uint32_t>(i)]);
    GYRE_RETURN_IF_ERROR(
        EncodeAttrs(attrs, out_attrs.mutable_attr(), [](const std::string&) { return true; }));
  }
  return absl::OkStatus();
}

absl::Status WriteResults(const Function& function, BodyWriter& writer, wire::FunctionDef* def) {
  auto* args = def->mutable_signature()->mutable_output_arg();
  ResizeArgs(args, function.results.size());
  const std::vector<std::string> names = ResultNames(function);
  for (size_t i = 0; i < function.results.size(); ++i) {
    wire::OpDef::ArgDef* out = args->Mutable(static_cast<int>(i));
    out->set_name(names[i]);
    out->set_type(static_cast<wire::DataType>(function.results[i].dtype));
    GYRE_ASSIGN_OR_RETURN((*def->mutable_ret())[names[i]], writer.Spell(function.results[i].value));
  }
  NameTable control_names;
  for (const auto& [name, node] : function.control_results) {
    const std::string claimed = control_names.Claim(name);
    def->mutable_signature()->add_control_output(claimed);
    (*def->mutable_control_ret())[claimed] = writer.name_of(node);
  }
  return absl::OkStatus();
}

absl::Status CheckEdges(const Function& function) {
  const auto exists = [&](NodeId id) {
    return id >= 0 && static_cast<size_t>(id) < function.nodes.size();
  };
  bool sound = function.args.size() == function.arg_nodes.size();
  for (const Node& node : function.nodes) {
    for (const Endpoint& input : node.inputs) sound = sound && exists(input.node);
    for (const NodeId input : node.control_inputs) sound = sound && exists(input);
  }
  for (const NodeId arg : function.arg_nodes) sound = sound && exists(arg);
  for (const FunctionResult& result : function.results) sound = sound && exists(result.value.node);
  for (const auto& [name, node] : function.control_results) sound = sound && exists(node);
  if (sound) return absl::OkStatus();
  return BugError(
      absl::StrCat("function '", function.name, "' refers to a node that is not there"));
}

}  // namespace

absl::Status WriteMainGraph(const Program& program, wire::GraphDef* graph) {
  GYRE_RETURN_IF_ERROR(CheckEdges(program.main()));
  BodyWriter writer(program, program.main(), /*is_main=*/true);
  writer.ChooseNames();
  for (const Node& node : program.main().nodes)
    GYRE_RETURN_IF_ERROR(writer.WriteNode(node, graph->add_node()));
  return absl::OkStatus();
}

absl::Status WriteFunction(const Program& program, const Function& function,
                           wire::FunctionDef* def) {
  GYRE_RETURN_IF_ERROR(CheckEdges(function));
  GYRE_RETURN_IF_ERROR(
      ParseExtra(function.wire_extra, absl::StrCat("function ", function.name), def));
  wire::OpDef* signature = def->mutable_signature();
  signature->set_name(function.name);
  signature->set_description(function.doc);
  signature->set_is_stateful(function.stateful);
  BodyWriter writer(program, function, /*is_main=*/false);
  writer.ChooseNames();
  GYRE_RETURN_IF_ERROR(WriteArguments(function, writer, def));
  for (const Node& node : function.nodes) {
    if (!writer.IsArgument(node.id))
      GYRE_RETURN_IF_ERROR(writer.WriteNode(node, def->add_node_def()));
  }
  GYRE_RETURN_IF_ERROR(WriteResults(function, writer, def));
  return EncodeAttrs(function.attrs, def->mutable_attr(), [](const std::string&) { return true; });
}

}  // namespace gyre
