#include "onnx/write/model_writer.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "onnx/write/tensor_proto.h"

namespace gyre::onnx {
namespace {

constexpr size_t kSmall = 1024;

wire::AttributeProto Attr(absl::string_view name, wire::AttributeProto::AttributeType type) {
  wire::AttributeProto attr;
  attr.set_name(std::string(name));
  attr.set_type(type);
  return attr;
}

}  // namespace

wire::AttributeProto IntAttr(absl::string_view name, int64_t value) {
  wire::AttributeProto attr = Attr(name, wire::AttributeProto::INT);
  attr.set_i(value);
  return attr;
}

wire::AttributeProto FloatAttr(absl::string_view name, float value) {
  wire::AttributeProto attr = Attr(name, wire::AttributeProto::FLOAT);
  attr.set_f(value);
  return attr;
}

wire::AttributeProto TextAttr(absl::string_view name, absl::string_view value) {
  wire::AttributeProto attr = Attr(name, wire::AttributeProto::STRING);
  attr.set_s(std::string(value));
  return attr;
}

wire::AttributeProto IntsAttr(absl::string_view name, const std::vector<int64_t>& values) {
  wire::AttributeProto attr = Attr(name, wire::AttributeProto::INTS);
  for (const int64_t value : values) attr.add_ints(value);
  return attr;
}

wire::AttributeProto GraphAttr(absl::string_view name, wire::GraphProto graph) {
  wire::AttributeProto attr = Attr(name, wire::AttributeProto::GRAPH);
  attr.mutable_g()->Swap(&graph);
  return attr;
}

void WriteType(const ModelValue& value, bool with_shape, wire::TypeProto* type) {
  if (value.kind == Kind::kOptional) type = type->mutable_optional_type()->mutable_elem_type();
  if (value.kind == Kind::kSequence || value.holds_list)
    type = type->mutable_sequence_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(ElemOfDType(value.dtype));
  if (!with_shape || !value.shape.has_rank()) return;
  auto* const shape = type->mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : value.shape.dims()) {
    auto* const added = shape->add_dim();
    if (dim >= 0) added->set_dim_value(dim);
  }
}

ModelWriter::ModelWriter(wire::ModelProto* model) : model_(*model) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("gyre");
  model_.add_opset_import()->set_version(kOpset);
  model_.mutable_graph()->set_name("main");
  graphs_.push_back(model_.mutable_graph());
}

void ModelWriter::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::string ModelWriter::NewName(absl::string_view wanted) {
  std::string name(wanted);
  if (names_.emplace(name, 1).second) return name;
  int count = names_[name];
  do {
    name = absl::StrCat(wanted, "_", count++);
  } while (!names_.emplace(name, 1).second);
  names_[std::string(wanted)] = count;
  return name;
}

std::vector<std::string> ModelWriter::AddNode(absl::string_view op,
                                              const std::vector<std::string>& inputs, Attrs attrs,
                                              int num_outputs) {
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  if (++num_nodes_ > kMaxNodes) {
    Fail(absl::ResourceExhaustedError(
        "with what its functions hold at each of their calls, the model has too many nodes"));
    return std::vector<std::string>(num_outputs);
  }
  wire::NodeProto& node = *graph().add_node();
  node.set_op_type(std::string(op));
  const std::string name = NewName(stem_.empty() ? std::string(op) : stem_);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
  for (wire::AttributeProto& attr : attrs) node.add_attribute()->Swap(&attr);
  std::vector<std::string> outputs;
  for (int i = 0; i < num_outputs; ++i) {
    outputs.push_back(NewName(absl::StrCat(name, ":", i)));
    node.add_output(outputs.back());
    made_in_[outputs.back()] = graphs_.size();
  }
  return outputs;
}

std::string ModelWriter::AddInitializer(absl::string_view wanted, const Tensor& value) {
  const std::string name = NewName(wanted);
  wire::TensorProto& proto = *model_.mutable_graph()->add_initializer();
  const absl::Status status = WriteTensor(value, &proto);
  if (!status.ok()) Fail(status);
  proto.set_name(name);
  return name;
}

std::string ModelWriter::NameOf(const ModelValue& value) {
  if (!value.name.empty() || failed()) return value.name;
  if (!value.is_known()) {
    Fail(absl::UnimplementedError(
        value.handle != nullptr
            ? absl::StrCat("'", value.handle->name, "' is no value that a model of ONNX can hold")
            : "a value that a model of ONNX cannot hold"));
    return "";
  }
  const Tensor& tensor = value.constant;
  const std::string wanted = value.wanted_name.empty() ? "const" : value.wanted_name;
  if (tensor.bytes() > kSmall || !IsTrivial(tensor.dtype())) {
    auto& known = large_[tensor.bytes() == 0 ? nullptr : tensor.raw_data()];
    for (const auto& [other, name] : known) {
      if (other.dtype() == tensor.dtype() && other.shape() == tensor.shape() &&
          IsTrivial(tensor.dtype()))
        return name;
    }
    known.emplace_back(tensor, AddInitializer(wanted, tensor));
    return known.back().second;
  }
  std::string key = absl::StrCat(DTypeName(tensor.dtype()), tensor.shape().ToString());
  key.append(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
  const auto it = small_.find(key);
  if (it != small_.end()) return it->second;
  const bool is_number = IsFloating(tensor.dtype()) && tensor.num_elements() == 1;
  return small_[key] = is_number ? AddConstant(wanted, tensor) : AddInitializer(wanted, tensor);
}

std::string ModelWriter::AddConstant(absl::string_view wanted, const Tensor& value) {
  wire::NodeProto& node = constants_.emplace_back();
  node.set_op_type("Constant");
  node.set_name(NewName(wanted));
  node.add_output(node.name());
  wire::AttributeProto& attr = *node.add_attribute();
  attr = Attr("value", wire::AttributeProto::TENSOR);
  const absl::Status status = WriteTensor(value, attr.mutable_t());
  if (!status.ok()) Fail(status);
  return node.name();
}

void ModelWriter::Finish() {
  google::protobuf::RepeatedPtrField<wire::NodeProto> nodes;
  for (wire::NodeProto& node : constants_) nodes.Add()->Swap(&node);
  for (wire::NodeProto& node : *model_.mutable_graph()->mutable_node()) nodes.Add()->Swap(&node);
  model_.mutable_graph()->mutable_node()->Swap(&nodes);
  constants_.clear();
  Tidy(model_.mutable_graph());
}

void ModelWriter::NeedOpset(int64_t opset) {
  auto& imported = *model_.mutable_opset_import(0);
  if (imported.version() < opset) imported.set_version(opset);
  if (opset > kOpset) model_.set_ir_version(kIrVersion + 1);
}

void ModelWriter::Open(absl::string_view name) {
  inner_.push_back(std::make_unique<wire::GraphProto>());
  inner_.back()->set_name(NewName(name));
  graphs_.push_back(inner_.back().get());
}

void ModelWriter::Open(wire::GraphProto graph) {
  inner_.push_back(std::make_unique<wire::GraphProto>());
  inner_.back()->Swap(&graph);
  graphs_.push_back(inner_.back().get());
}

wire::GraphProto ModelWriter::Close() {
  wire::GraphProto graph;
  graph.Swap(inner_.back().get());
  inner_.pop_back();
  graphs_.pop_back();
  return graph;
}

void ModelWriter::AddOutput(const ModelValue& value, bool with_shape, const std::string& name) {
  const std::string source = NameOf(value);
  if (failed()) return;
  std::string output = name;
  if (output.empty()) {
    output = AddNode("Identity", {source}, {}, 1)[0];
  } else {
    wire::NodeProto& node = *graph().add_node();
    node.set_op_type("Identity");
    node.set_name(NewName(name));
    node.add_input(source);
    node.add_output(output);
  }
  wire::ValueInfoProto& info = *graph().add_output();
  info.set_name(output);
  WriteType(value, with_shape, info.mutable_type());
}

void ModelWriter::Describe(const ModelValue& value) {
  if (value.kind != Kind::kTensor || value.handle != nullptr || value.name.empty()) return;
  if (!value.shape.has_rank() || ElemOfDType(value.dtype) == 0) return;
  const auto made = made_in_.find(value.name);
  if (made == made_in_.end() || made->second != graphs_.size()) return;
  if (!described_.insert(value.name).second) return;
  wire::ValueInfoProto& info = *graph().add_value_info();
  info.set_name(value.name);
  WriteType(value, true, info.mutable_type());
}

void ModelWriter::AddInput(const ModelValue& value) {
  wire::ValueInfoProto& info = *graph().add_input();
  info.set_name(value.name);
  WriteType(value, true, info.mutable_type());
}

}  // namespace gyre::onnx
