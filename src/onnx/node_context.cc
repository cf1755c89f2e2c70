#include "onnx/node_context.h"

#include <algorithm>

#include "onnx/names.h"

namespace gyre::onnx {

using wire::AttributeProto;

NodeContext::NodeContext(Names& names, const wire::NodeProto& node, int64_t opset)
    : names_(names),
      scope_(names.scope()),
      node_(node),
      opset_(opset),
      name_(!node.name().empty() ? node.name()
            : node.output_size() > 0 && !node.output(0).empty()
                ? absl::StrCat(node.op_type(), "_", node.output(0))
                : node.op_type()) {}

bool NodeContext::has(int i) const {
  return i < node_.input_size() && !node_.input(i).empty() && names_.IsGiven(node_.input(i));
}

Value NodeContext::value(int i) {
  if (has(i)) return names_.Get(node_.input(i));
  Invalid(absl::StrCat("its input ", i, " is missing"));
  return {scope_.Invalid(), {}};
}

Expr NodeContext::in(int i) {
  const Value input = value(i);
  if (!failed() && !input.type.is_tensor())
    Invalid(absl::StrCat("its input ", i, " is a ", ToString(input.type), ", not a tensor"));
  return failed() ? scope_.Invalid() : input.expr;
}

std::vector<Expr> NodeContext::ins() {
  std::vector<Expr> inputs;
  for (int i = 0; i < num_inputs(); ++i) inputs.push_back(in(i));
  return inputs;
}

int NodeContext::Rank(const Expr& x) {
  const int rank = scope_.RankOf(x);
  if (rank >= 0) return rank;
  if (!failed()) Unsupported("the rank of one of its inputs is not known before the program runs");
  return 0;
}

int NodeContext::Axis(int64_t axis, int rank) {
  const auto result = shape::Axis(axis, rank);
  if (result.ok()) return *result;
  if (!failed()) Fail(result.status());
  return 0;
}

std::vector<int> NodeContext::Axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  std::vector<bool> is_named(std::max(rank, 0));
  for (const int64_t axis : axes) {
    result.push_back(Axis(axis, rank));
    if (failed()) return {};
    if (is_named[result.back()]) Invalid(absl::StrCat("axis ", axis, " is named twice"));
    is_named[result.back()] = true;
  }
  return result;
}

int64_t NodeContext::Dim(const Expr& x, int axis) {
  const PartialShape& shape = scope_.ShapeOf(x);
  return shape.has_rank() && axis >= 0 && axis < shape.rank() ? shape.dim(axis) : -1;
}

std::vector<int64_t> NodeContext::Known(const Expr& x, absl::string_view what) {
  if (const auto known = scope_.IntsOf(x)) return *known;
  if (!failed()) Unsupported(absl::StrCat("its ", what, " must be known before the program runs"));
  return {};
}

const wire::AttributeProto* NodeContext::Find(absl::string_view name) const {
  for (const wire::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    if (!attribute.ref_attr_name().empty())
      return names_.FunctionAttribute(attribute.ref_attr_name());
    return &attribute;
  }
  return nullptr;
}

const AttributeProto* NodeContext::Find(absl::string_view name,
                                        AttributeProto::AttributeType type) const {
  const AttributeProto* const attribute = Find(name);
  // Models of ONNX's first days do not say what an attribute is.
  if (attribute == nullptr || attribute->type() == type ||
      attribute->type() == AttributeProto::UNDEFINED)
    return attribute;
  scope_.Fail(absl::InvalidArgumentError(
      absl::StrCat("its attribute '", name, "' is of another type than it must be")));
  return nullptr;
}

int64_t NodeContext::Int(absl::string_view name, int64_t fallback) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::INT);
  return attribute == nullptr ? fallback : attribute->i();
}

int32_t NodeContext::Int32(absl::string_view name, int32_t fallback) const {
  const int64_t value = Int(name, fallback);
  if (value == static_cast<int32_t>(value)) return static_cast<int32_t>(value);
  scope_.Fail(absl::InvalidArgumentError(
      absl::StrCat("its attribute '", name, "', ", value, ", is out of range")));
  return fallback;
}

float NodeContext::Float(absl::string_view name, float fallback) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::FLOAT);
  return attribute == nullptr ? fallback : attribute->f();
}

std::string NodeContext::Text(absl::string_view name, absl::string_view fallback) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

std::vector<int64_t> NodeContext::Ints(absl::string_view name) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> NodeContext::Floats(absl::string_view name) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> NodeContext::Texts(absl::string_view name) const {
  const AttributeProto* const attribute = Find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

const wire::GraphProto* NodeContext::Graph(absl::string_view name) {
  const wire::AttributeProto* const attribute = Find(name);
  if (attribute != nullptr && attribute->has_g()) return &attribute->g();
  Fail(absl::InvalidArgumentError(absl::StrCat("its attribute '", name, "', a graph, is missing")));
  return nullptr;
}

void NodeContext::out(int i, const Expr& value) {
  if (failed()) return;
  out(i, Value{value, Type::Tensor(ElemOfDType(value.dtype()))});
}

void NodeContext::out(int i, Value value) {
  if (failed() || !wants(i)) return;
  names_.Set(node_.output(i), std::move(value));
}

std::vector<Value> NodeContext::Body(Scope& inner, const wire::GraphProto& graph,
                                     const std::vector<Value>& inputs) {
  Names names(names_, inner);
  if (static_cast<size_t>(graph.input_size()) != inputs.size()) {
    inner.Fail(absl::InvalidArgumentError(absl::StrCat("graph '", graph.name(), "' takes ",
                                                       graph.input_size(), " inputs, but is given ",
                                                       inputs.size())));
    return {};
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    names.Set(graph.input(static_cast<int>(i)).name(), inputs[i]);
  names.ReadGraph(graph);
  std::vector<Value> results;
  for (const wire::ValueInfoProto& output : graph.output())
    results.push_back(names.Get(output.name()));
  if (inner.failed()) results.clear();
  return results;
}

}  // namespace gyre::onnx
