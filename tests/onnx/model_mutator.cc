#include "onnx/model_mutator.h"

#include <algorithm>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "onnx/onnx.pb.h"
#include "onnx/op_table.h"

namespace gyre::onnx {
namespace {

using wire::AttributeProto;
using wire::GraphProto;
using wire::ModelProto;
using wire::NodeProto;
using wire::TensorProto;

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                -2,
                                -64,
                                64,
                                255,
                                1000,
                                65536,
                                1 << 20,
                                std::numeric_limits<int32_t>::max(),
                                int64_t{1} << 31,
                                (int64_t{1} << 32) + 1,
                                int64_t{1} << 62,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
constexpr float kFloats[] = {0,
                             -0.0f,
                             1,
                             -1,
                             0.5f,
                             1e-38f,
                             1e38f,
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
constexpr const char* kTexts[] = {"",     "SAME_UPPER", "SAME_LOWER", "VALID", "linear",  "cubic",
                                  "wrap", "reflect",    "edge",       "mul",   "add",     "mean",
                                  "none", "reverse",    "LEFT",       "CRD",   "...->i",  "tanh",
                                  "((",   "tanh",       "\xff\xfe",   "max",   "circular"};
constexpr const char* kAttributes[] = {"axis",      "axes",      "keepdims",     "perm",
                                       "pads",      "strides",   "dilations",    "kernel_shape",
                                       "group",     "auto_pad",  "ceil_mode",    "to",
                                       "dtype",     "mode",      "block_size",   "num_scan_inputs",
                                       "new_axis",  "reduction", "direction",    "scan_input_axes",
                                       "value",     "value_int", "batch_dims",   "output_padding",
                                       "equation",  "layout",    "num_groups",   "training_mode",
                                       "antialias", "saturate",  "output_dtype", "storage_order"};
constexpr int64_t kOpsets[] = {0, -1, 1, 6, 7, 9, 10, 11, 12, 13, 17, 18, 21, 24, 1'000'000'000};
constexpr int kNumElemTypes = 26;  // one more than there are

}  // namespace

class ModelMutator::Impl {
 public:
  Impl(uint64_t seed, std::vector<std::string> models)
      : random_(seed), models_(std::move(models)), ops_(OpNames()) {}

  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }

  std::string Mutate(size_t i) {
    if (Below(5) == 0) return Damage(models_[i]);
    const google::protobuf::LogSilencer silence;
    ModelProto model;
    if (!model.ParseFromString(models_[i])) return Damage(models_[i]);
    for (size_t n = 1 + Below(3); n > 0; --n) Change(model);
    return model.SerializeAsString();
  }

  std::string Damage(std::string bytes) {
    for (size_t n = 1 + Below(4); n > 0 && !bytes.empty(); --n) {
      const size_t at = Below(bytes.size());
      switch (Below(4)) {
        case 0:
          bytes.erase(at, 1 + Below(8));
          break;
        case 1:
          bytes.insert(Below(bytes.size()), bytes.substr(at, 1 + Below(40)));
          break;
        default:
          bytes[at] = static_cast<char>(random_());
      }
    }
    return bytes;
  }

 private:
  template <typename T, size_t n>
  const T& Any(const T (&values)[n]) {
    return values[Below(n)];
  }
  template <typename List>
  auto* AnyOf(List* list) {
    return list->empty() ? nullptr : list->Mutable(static_cast<int>(Below(list->size())));
  }
  int64_t Number() { return Below(4) == 0 ? static_cast<int64_t>(Below(9)) : Any(kNumbers); }
  int ElemType() { return static_cast<int>(Below(kNumElemTypes)); }

  void Collect(GraphProto& graph) {
    graphs_.push_back(&graph);
    for (NodeProto& node : *graph.mutable_node()) {
      nodes_.push_back({graph.mutable_node(), &node});
      for (const std::string& name : node.output()) names_.push_back(name);
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) tensors_.push_back(attribute.mutable_t());
        if (attribute.has_g()) Collect(*attribute.mutable_g());
      }
    }
    for (const auto& input : graph.input()) names_.push_back(input.name());
    for (TensorProto& tensor : *graph.mutable_initializer()) {
      names_.push_back(tensor.name());
      tensors_.push_back(&tensor);
    }
  }

  void Change(ModelProto& model) {
    graphs_.clear(), nodes_.clear(), tensors_.clear();
    names_ = {""};
    Collect(*model.mutable_graph());
    for (auto& function : *model.mutable_functions()) {
      for (NodeProto& node : *function.mutable_node())
        nodes_.push_back({function.mutable_node(), &node});
    }
    switch (Below(8)) {
      case 0:
        return ChangeGraph(*graphs_[Below(graphs_.size())]);
      case 1:
        for (auto& import : *model.mutable_opset_import()) import.set_version(Any(kOpsets));
        return;
      case 2:
        if (!tensors_.empty()) ChangeTensor(*tensors_[Below(tensors_.size())]);
        return;
      default:
        break;
    }
    if (nodes_.empty()) return;
    const auto [list, node] = nodes_[Below(nodes_.size())];
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        return ChangeAttribute(*node);
      case 3:
      case 4:
      case 5:
        return ChangeEdge(model, *node);
      case 6:
        return ChangeNode(*list, *node);
      default:
        return Call(model, *node);
    }
  }

  const std::string& Name() { return names_[Below(names_.size())]; }

  void ChangeEdge(ModelProto& model, NodeProto& node) {
    switch (Below(7)) {
      case 0:
        if (auto* const input = AnyOf(node.mutable_input())) *input = Name();
        return;
      case 1:
        return node.add_input(Name());
      case 2:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        return;
      case 3:
        if (node.input_size() > 1) node.mutable_input()->SwapElements(0, node.input_size() - 1);
        return;
      case 4:
        if (auto* const output = AnyOf(node.mutable_output())) *output = Name();
        return;
      case 5:
        if (Below(2) == 0) return node.clear_output();
        return node.add_output("one_more");
      default:
        break;
    }
    auto* const input = AnyOf(node.mutable_input());
    if (input == nullptr) return;
    *input = absl::StrCat("constant_", random_() % 1000);
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(*input);
    tensor.set_data_type(ElemType());
    int64_t count = 1;
    for (size_t rank = Below(4); rank > 0; --rank) {
      tensor.add_dims(static_cast<int64_t>(Below(4)));
      count *= tensor.dims(tensor.dims_size() - 1);
    }
    for (int64_t i = 0; i < count; ++i) {
      tensor.add_int64_data(Number());
      tensor.add_float_data(Any(kFloats));
      tensor.add_int32_data(static_cast<int32_t>(Number()));
    }
  }

  void ChangeAttribute(NodeProto& node) {
    AttributeProto* attribute = AnyOf(node.mutable_attribute());
    if (attribute == nullptr || Below(4) == 0) {
      attribute = node.add_attribute();
      attribute->set_name(Any(kAttributes));
    } else if (Below(6) == 0) {
      return node.mutable_attribute()->RemoveLast();
    }
    if (attribute->ints_size() > 0 && Below(2) == 0)
      return attribute->set_ints(static_cast<int>(Below(attribute->ints_size())), Number());
    AttributeProto::AttributeType type = attribute->type();
    if (type == AttributeProto::UNDEFINED || Below(4) == 0)
      type = static_cast<AttributeProto::AttributeType>(Below(9));
    attribute->set_type(type);
    attribute->set_i(Number());
    attribute->set_f(Any(kFloats));
    attribute->set_s(Any(kTexts));
    if (type == AttributeProto::FLOATS) attribute->add_floats(Any(kFloats));
    if (type == AttributeProto::STRINGS) attribute->add_strings(Any(kTexts));
    if (type != AttributeProto::INTS) return;
    if (Below(2) == 0) attribute->clear_ints();
    for (size_t n = Below(5); n > 0; --n) attribute->add_ints(Number());
  }

  void ChangeNode(google::protobuf::RepeatedPtrField<NodeProto>& list, NodeProto& node) {
    const NodeProto copy = node;
    switch (Below(3)) {
      case 0:
        return node.set_op_type(ops_[Below(ops_.size())]);
      case 1:
        *list.Add() = copy;
        return;
      default:
        return list.SwapElements(0, list.size() - 1);
    }
  }

  // The node as a function, which may call itself or lack an input.
  void Call(ModelProto& model, NodeProto& node) {
    wire::FunctionProto& function = *model.add_functions();
    *function.add_node() = node;
    *function.mutable_input() = node.input();
    *function.mutable_output() = node.output();
    function.set_name(Below(4) == 0 ? node.op_type() : "function");
    function.set_domain(Below(4) == 0 ? node.domain() : "test");
    if (Below(4) == 0 && node.input_size() > 0) function.add_output(node.input(0));
    node.set_op_type(function.name());
    node.set_domain(function.domain());
    if (Below(3) == 0 && node.input_size() > 0) node.mutable_input()->RemoveLast();
  }

  void ChangeTensor(TensorProto& tensor) {
    switch (Below(6)) {
      case 0:
        return tensor.set_data_type(ElemType());
      case 1:
        return tensor.add_dims(Number());
      case 2:
        if (tensor.dims_size() > 0) tensor.set_dims(0, Number());
        return;
      case 3:
        if (tensor.has_raw_data()) tensor.set_raw_data(Damage(tensor.raw_data()));
        return;
      case 4:
        if (tensor.int64_data_size() > 0) tensor.set_int64_data(0, Number());
        return;
      default:
        break;
    }
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(Below(2) == 0 ? "/etc/passwd" : "../secret");
  }

  void ChangeGraph(GraphProto& graph) {
    auto* const values = Below(2) == 0 ? graph.mutable_input() : graph.mutable_output();
    wire::ValueInfoProto* const value = AnyOf(values);
    if (value == nullptr || Below(6) == 0) return values->Add()->set_name(Name());
    switch (Below(5)) {
      case 0:
        return value->set_name(Name());
      case 1:
        return values->RemoveLast();
      case 2:
        return value->mutable_type()->mutable_tensor_type()->set_elem_type(ElemType());
      case 3:
        return value->mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->add_dim()
            ->set_dim_value(Number());
      default:
        break;
    }
    const wire::TypeProto type = value->type();
    *(Below(2) == 0 ? value->mutable_type()->mutable_sequence_type()->mutable_elem_type()
                    : value->mutable_type()->mutable_optional_type()->mutable_elem_type()) = type;
  }

  std::mt19937_64 random_;
  const std::vector<std::string> models_;
  const std::vector<std::string> ops_;
  // Of the model that is being changed.
  std::vector<GraphProto*> graphs_;
  std::vector<std::pair<google::protobuf::RepeatedPtrField<NodeProto>*, NodeProto*>> nodes_;
  std::vector<TensorProto*> tensors_;
  std::vector<std::string> names_;
};

ModelMutator::ModelMutator(uint64_t seed, std::vector<std::string> models)
    : num_models_(models.size()), impl_(std::make_unique<Impl>(seed, std::move(models))) {}
ModelMutator::~ModelMutator() = default;

ModelMutator::Mutant ModelMutator::Next() {
  const size_t original = impl_->Below(num_models_);
  return {original, impl_->Mutate(original)};
}

std::string ModelMutator::Damage(std::string bytes) { return impl_->Damage(std::move(bytes)); }

}  // namespace gyre::onnx
