#include "front/functions/graph_builder.h"

#include <utility>

#include "front/error.h"
#include "front/op_call.h"
#include "ops/functions/registry.h"
#include "ops/registry.h"
#include "session/literal.h"

namespace gyre::internal {

Term GraphBuilder::Add(Operand operand) {
  operands_.push_back(std::move(operand));
  return {this, static_cast<int>(operands_.size() - 1)};
}

Term GraphBuilder::Op(absl::string_view name, const std::vector<Term>& inputs, AttrMap attrs,
                      bool) {
  const OpDef& op = *Ops().Find(name);
  const std::vector<int> formals = InputOfOperands(op, inputs.size());
  std::vector<std::vector<Operand>> operands(op.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) operands[formals[i]].push_back(operand(inputs[i]));
  OpCall call(name, where_);
  for (const auto& formal : operands) call.In(formal);
  for (const auto& [attr, value] : attrs) call.Attr(attr, value);
  return Add(Operand(call.One(), where_));
}

Term GraphBuilder::Number(DType dtype, double value) {
  absl::StatusOr<Tensor> number = ConvertLiteral(Tensor::Scalar(value), dtype);
  if (!number.ok()) ThrowInvalid(number.status().message(), where_);
  return Constant(*number);
}

DType GraphBuilder::DTypeOf(Term x) const {
  const Operand& known = operand(x);
  return known.is_literal() ? known.literal().dtype() : known.value().dtype();
}

PartialShape GraphBuilder::ShapeOf(Term x) const {
  const Operand& known = operand(x);
  return known.is_literal() ? PartialShape(known.literal().shape()) : known.value().shape();
}

void GraphBuilder::RefuseType(const std::string& text) const { ThrowInvalid(text, where_); }
void GraphBuilder::RefuseValue(const std::string& text) const { ThrowInvalid(text, where_); }

}  // namespace gyre::internal
