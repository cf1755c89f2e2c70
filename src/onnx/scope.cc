#include "onnx/scope.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "ir/shape_inference.h"
#include "onnx/names.h"
#include "ops/evaluate.h"

namespace gyre::onnx {
namespace {

// Constants of more elements are not followed through ops.
constexpr int64_t kMaxKnown = 2048;

bool IsSmall(const Tensor& tensor) { return tensor.num_elements() <= kMaxKnown; }

// Whether the node may be computed beforehand, as far as its op goes.
bool IsPure(const Node& node) {
  return node.op != nullptr && node.op->kind == OpKind::kPlain &&
         node.op->traits.effect == Effect::kNone && !node.inputs.empty();
}

bool IsSmall(const PartialShape& shape) {
  const std::optional<Shape> known = shape.ToShape();
  return known && known->num_elements() <= kMaxKnown;
}

}  // namespace

Writing::Writing(const OpLookup& ops) : ops(ops) {
  nothing = ProgramBuilder(ops).SetMain(Function()).Build();
}

Scope::Scope(Writing& writing, std::string name, Scope* outer)
    : writing_(writing),
      outer_(outer),
      depth_(outer == nullptr ? 0 : outer->depth() + 1),
      function_(writing.ops, std::move(name)),
      builder_(function_) {}

Expr Scope::Arg(absl::string_view name, DType dtype, ValueInfo info) {
  const Endpoint arg = function_.Arg(name, dtype);
  SetInfos(arg.node, {std::move(info)});
  return builder_.At(arg);
}

Expr Scope::Reach(const Expr& value) {
  if (failed()) return Invalid();
  if (!value.ok() || &value.builder() == &builder_) return value;
  if (outer_ == nullptr) {
    Fail(absl::InvalidArgumentError("a value of another graph"));
    return Invalid();
  }
  CheckStack();
  const Expr outside = outer_->Reach(value);
  if (!outside.ok()) {
    Fail(outer_->b().status());
    return Invalid();
  }
  const Endpoint at = outside.endpoint();
  const auto [it, is_new] = reached_.try_emplace({at.node, at.slot});
  if (!is_new) return it->second;
  const ValueInfo info = outer_->Info(outside);
  if (info.constant.has_value()) {
    it->second = builder_.Constant(info.constant);
  } else {
    const Node& node = outer_->function().node(at.node);
    it->second = Arg(ShortName(node.name), outside.dtype(), info);
    captures_.emplace_back(outside, it->second);
  }
  return it->second;
}

const ValueInfo& Scope::Info(const Expr& value) {
  static const auto* const kNothing = new ValueInfo();
  if (!value.ok() || &value.builder() != &builder_) return *kNothing;
  const Endpoint at = value.endpoint();
  while (static_cast<NodeId>(infos_.size()) <= at.node)
    Infer(function_.node(static_cast<NodeId>(infos_.size())));
  const std::vector<ValueInfo>& infos = infos_[at.node];
  return at.slot < static_cast<int>(infos.size()) ? infos[at.slot] : *kNothing;
}

void Scope::Infer(const Node& node) {
  SpendWork();
  if (const auto it = stated_.find(node.id); it != stated_.end()) {
    infos_.push_back(it->second);
    return;
  }
  std::vector<ValueInfo> inputs;
  bool follows = true;
  for (const Endpoint& input : node.inputs) {
    const bool is_known = input.slot < static_cast<int>(infos_[input.node].size());
    inputs.push_back(is_known ? infos_[input.node][input.slot] : ValueInfo());
    follows = follows && inputs.back().constant.has_value();
  }
  auto outputs = InferNode(*writing_.nothing, node, inputs);
  if (!outputs.ok()) {
    // It cannot succeed, which is no matter in a branch that is never taken.
    infos_.emplace_back(node.num_outputs());
    return;
  }
  if (follows && IsPure(node)) Evaluate(node, inputs, *outputs);
  for (ValueInfo& info : *outputs) {
    if (info.constant.has_value() && !IsSmall(info.constant)) info.constant = Tensor();
  }
  infos_.push_back(*std::move(outputs));
}

void Scope::Evaluate(const Node& node, const std::vector<ValueInfo>& inputs,
                     std::vector<ValueInfo>& outputs) {
  std::vector<Tensor> values;
  for (const ValueInfo& input : inputs) values.push_back(input.constant);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = node.signature.outputs[i].dtype;
    if (!IsSmall(outputs[i].shape) || dtype == DType::kVariant || dtype == DType::kResource) return;
  }
  const auto results = EvaluateOp(node.op_name, std::move(values), node.attrs);
  if (!results.ok() || results->size() != outputs.size()) return;  // it will fail when it runs
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& result = (*results)[i];
    if (result.has_value() && IsSmall(result)) outputs[i].constant = result;
  }
}

int Scope::RankOf(const Expr& value) {
  const PartialShape& shape = ShapeOf(value);
  return shape.has_rank() ? shape.rank() : -1;
}

std::optional<std::vector<int64_t>> Scope::IntsOf(const Expr& value) {
  const ValueInfo& info = Info(value);
  if (!info.constant.has_value()) {
    if (!info.as_shape || !info.as_shape->IsFullyKnown()) return std::nullopt;
    return std::vector<int64_t>(info.as_shape->dims().begin(), info.as_shape->dims().end());
  }
  if (info.constant.dtype() == DType::kInt64) {
    const auto values = info.constant.values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (info.constant.dtype() != DType::kInt32) return std::nullopt;
  const auto values = info.constant.values<int32_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

Expr Scope::Int64(int64_t value) { return builder_.Constant(Tensor::Scalar<int64_t>(value)); }

Expr Scope::Int64s(const std::vector<int64_t>& values) {
  return builder_.Constant(
      Tensor::FromValues<int64_t>(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}

Expr Scope::Int32s(const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return builder_.Ints(narrow);
}

}  // namespace gyre::onnx
