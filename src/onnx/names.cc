#include "onnx/names.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "onnx/op_table.h"
#include "onnx/tensor_data.h"

namespace gyre::onnx {
namespace {

// Functions, graphs and types within each other.
constexpr int kMaxDepth = 64;
// Steps of work: some two for each node that is written. Functions are written at each call, bodies
// several times.
constexpr int64_t kMaxWork = int64_t{1} << 21;
constexpr int64_t kMaxSparseBytes = int64_t{1} << 30;
constexpr size_t kMaxShortName = 200;

int64_t OpsetOf(const google::protobuf::RepeatedPtrField<wire::OperatorSetIdProto>& imports,
                int64_t fallback) {
  for (const wire::OperatorSetIdProto& import : imports) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return fallback;
}

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// "node 'x' (Conv)", by its first output where it has no name.
std::string Describe(const wire::NodeProto& node) {
  if (!node.name().empty()) return absl::StrCat("node '", node.name(), "' (", node.op_type(), ")");
  if (node.output_size() > 0)
    return absl::StrCat("the node of '", node.output(0), "' (", node.op_type(), ")");
  return absl::StrCat("a node (", node.op_type(), ")");
}

}  // namespace

std::string NodeName(absl::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool is_fine = absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
    result.push_back(is_fine ? c : '_');
  }
  if (result.empty() || !(absl::ascii_isalnum(result[0]) || result[0] == '.'))
    result.insert(0, result.empty() || result[0] != '/' ? "n" : "main");
  return result;
}

std::string ShortName(absl::string_view name) { return NodeName(name.substr(0, kMaxShortName)); }

Model::Model(const wire::ModelProto& proto, std::string folder, const OpLookup& ops)
    : proto(proto),
      folder(std::move(folder)),
      writing(ops),
      opset(OpsetOf(proto.opset_import(), 1)),
      work_before(WorkSpent()) {
  for (const wire::FunctionProto& function : proto.functions())
    functions[{Domain(function.domain()), function.name(), function.overload()}] = &function;
}

absl::StatusOr<Tensor> Model::Read(const wire::TensorProto& tensor) {
  if (const auto it = tensors.find(&tensor); it != tensors.end()) return it->second;
  absl::StatusOr<Tensor> value = ReadTensor(tensor, folder);
  if (value.ok()) tensors[&tensor] = *value;
  return value;
}

absl::StatusOr<Tensor> Model::Read(const wire::SparseTensorProto& tensor) {
  if (const auto it = tensors.find(&tensor); it != tensors.end()) return it->second;
  absl::StatusOr<Tensor> value = ReadSparseTensor(tensor, folder, kMaxSparseBytes - sparse_bytes);
  if (!value.ok()) return value;
  sparse_bytes += static_cast<int64_t>(value->bytes());
  tensors[&tensor] = *value;
  return value;
}

bool Model::IsSpent() const { return WorkSpent() - work_before > kMaxWork; }

void Names::Set(const std::string& name, Value value) {
  if (name.empty()) return;
  if (const auto said = ranks_.find(name); said != ranks_.end() && value.expr.ok() &&
                                           value.type.is_tensor() && !scope_.failed() &&
                                           scope_.RankOf(value.expr) < 0) {
    value.expr = scope_.Op("EnsureShape", {value.expr},
                           {{"shape", PartialShape::UnknownOfRank(said->second)}});
  }
  if (value.type.depth > kMaxDepth) {
    return scope_.Fail(absl::InvalidArgumentError(
        absl::StrCat("sequences and optionals lie in each other more than ", kMaxDepth, " deep")));
  }
  if (!values_.emplace(name, std::move(value)).second)
    scope_.Fail(absl::InvalidArgumentError(absl::StrCat("two values are called '", name, "'")));
}

const Value* Names::Find(const std::string& name) const {
  for (const Names* names = this; names != nullptr; names = names->outer_) {
    if (const auto it = names->values_.find(name); it != names->values_.end()) return &it->second;
  }
  return nullptr;
}

Value Names::Get(const std::string& name) {
  const Value* const found = Find(name);
  if (found == nullptr) {
    scope_.Fail(absl::InvalidArgumentError(
        absl::StrCat("there is no value '", name, "' at this place of the graph")));
    return {scope_.Invalid(), {}};
  }
  if (!found->expr.ok()) {
    scope_.Fail(absl::InvalidArgumentError(
        absl::StrCat("the function is not given its input '", name, "', which it needs")));
    return {scope_.Invalid(), {}};
  }
  return {scope_.Reach(found->expr), found->type};
}

const wire::AttributeProto* Names::FunctionAttribute(const std::string& name) const {
  if (attributes_ == nullptr) return nullptr;
  const auto it = attributes_->find(name);
  return it == attributes_->end() ? nullptr : it->second;
}

void Names::ReadInitializers(const wire::GraphProto& graph) {
  for (const wire::TensorProto& proto : graph.initializer()) {
    const auto tensor = model_.Read(proto);
    if (!tensor.ok()) return scope_.Fail(tensor.status());
    const Endpoint constant =
        scope_.function().Constant(*tensor, {.name = ShortName(proto.name())});
    Set(proto.name(), {scope_.b().At(constant), Type::Tensor(proto.data_type())});
  }
  for (const wire::SparseTensorProto& proto : graph.sparse_initializer()) {
    const auto tensor = model_.Read(proto);
    if (!tensor.ok()) return scope_.Fail(tensor.status());
    Set(proto.values().name(),
        {scope_.b().Constant(*tensor), Type::Tensor(proto.values().data_type())});
  }
}

void Names::ReadShapes(const wire::GraphProto& graph) {
  for (const auto* values : {&graph.value_info(), &graph.output()}) {
    for (const wire::ValueInfoProto& info : *values) {
      const PartialShape shape = ReadShape(info.type());
      if (shape.has_rank()) ranks_[info.name()] = shape.rank();
    }
  }
}

void Names::ReadGraph(const wire::GraphProto& graph) {
  ReadShapes(graph);
  ReadInitializers(graph);
  ReadNodes(graph.node());
}

void Names::ReadNodes(const google::protobuf::RepeatedPtrField<wire::NodeProto>& nodes) {
  if (depth_ > kMaxDepth) {
    return scope_.Fail(absl::InvalidArgumentError(
        absl::StrCat("graphs and functions lie in each other more than ", kMaxDepth, " deep")));
  }
  for (const wire::NodeProto& node : nodes) {
    if (scope_.failed()) return;
    ReadNode(node);
  }
}

void Names::ReadNode(const wire::NodeProto& node) {
  CheckStack();
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  if (model_.IsSpent()) {
    return scope_.Fail(absl::ResourceExhaustedError(
        "with what its functions and bodies hold each time that they are written, the model has "
        "too many nodes"));
  }
  const std::string domain = Domain(node.domain());
  const auto function = model_.functions.find({domain, node.op_type(), node.overload()});
  NodeContext c(*this, node, opset_);
  scope_.b().set_style(
      {.prefix = absl::StrCat(ShortName(c.name()), "/"), .device = "", .source = ""});
  if (function != model_.functions.end()) {
    Call(c, *function->second);
  } else if (const OpFn write = FindOp(domain, node.op_type())) {
    write(c);
  } else {
    scope_.Fail(absl::UnimplementedError(
        absl::StrCat("there is no op ", node.op_type(), " of domain '",
                     domain.empty() ? "ai.onnx" : domain, "', opset ", opset_, ", in Gyre")));
  }
  if (scope_.failed()) {
    absl::StrAppend(&model_.where, model_.where.empty() ? "" : ", in ", Describe(node));
    return;
  }
  for (const std::string& output : node.output()) {
    if (output.empty() || values_.count(output) > 0) continue;
    scope_.Fail(absl::UnimplementedError(
        absl::StrCat(Describe(node), ": its output '", output, "' is not computed by Gyre")));
  }
}

void Names::Call(NodeContext& c, const wire::FunctionProto& function) {
  Attributes attributes;
  for (const wire::AttributeProto& attribute : function.attribute_proto())
    attributes[attribute.name()] = &attribute;
  for (const wire::AttributeProto& attribute : c.node().attribute()) {
    const std::string& reference = attribute.ref_attr_name();
    const wire::AttributeProto* const given =
        reference.empty() ? &attribute : FunctionAttribute(reference);
    if (given != nullptr) attributes[attribute.name()] = given;
  }
  Names inner(model_, scope_, OpsetOf(function.opset_import(), opset_), &attributes, depth_ + 1);
  if (c.num_inputs() > function.input_size() || c.num_outputs() > function.output_size())
    return c.Invalid("the function has fewer inputs or outputs");
  for (int i = 0; i < function.input_size(); ++i)
    inner.Set(function.input(i), c.has(i) ? c.value(i) : Value());
  inner.ReadNodes(function.node());
  for (int i = 0; i < c.num_outputs() && !c.failed(); ++i) {
    if (c.wants(i)) c.out(i, inner.Get(function.output(i)));
  }
}

}  // namespace gyre::onnx
