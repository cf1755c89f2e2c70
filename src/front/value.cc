#include "gyre/value.h"

#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/functions.h"
#include "gyre/state.h"

namespace gyre {

using internal::OpCall;

Operation::Operation(internal::ScopePtr scope, int32_t node)
    : scope_(std::move(scope)), node_(node) {}

Operation::Operation(const Value& value) : Operation(value.operation()) {}

std::string Operation::name() const { return scope_->function().node(node_).name; }

Value::Value(internal::ScopePtr scope, int32_t node, int32_t slot)
    : scope_(std::move(scope)), node_(node), slot_(slot) {}

DType Value::dtype() const { return scope_->function().node(node_).signature.outputs[slot_].dtype; }

PartialShape Value::shape() const { return scope_->info({node_, slot_}).shape; }

std::string Value::name() const { return scope_->function().EndpointName({node_, slot_}); }

Value Value::operator[](const Operand& i) const {
  const std::source_location& where = i.where();
  const internal::ScopePtr here = scope_->graph()->scope();
  const Operand begin(
      i.is_literal() ? here->ValueAt(here->AddConstant(i.literal(), "", where)) : i.value(), where);
  const Operand end(begin.value() + Operand(1, where), where);
  return OpCall("StridedSlice", where)
      .In(Operand(*this, where))
      .In(Operand(expand_dims(begin, Operand(0, where)), where))
      .In(Operand(expand_dims(end, Operand(0, where)), where))
      .In(Operand({1}, where))
      .Attr("shrink_axis_mask", int64_t{1})
      .One();
}

Operand::Operand(Value value, std::source_location where)
    : value_(std::move(value)), where_(where) {}
Operand::Operand(const Variable& variable, std::source_location where)
    : value_(variable.read(where)), where_(where) {}
Operand::Operand(Tensor tensor, std::source_location where)
    : literal_(std::move(tensor)), where_(where) {}
Operand::Operand(const char* text, std::source_location where)
    : Operand(std::string(text), where) {}
Operand::Operand(std::string text, std::source_location where)
    : Operand(Tensor::Scalar(std::move(text)), where) {}

OperandList::OperandList(const std::vector<Value>& values, std::source_location where)
    : where_(where) {
  for (const Value& value : values) list_.emplace_back(value, where);
}

Value to_value(const Operand& operand) { return internal::ValueOf(operand); }

namespace internal {
namespace {

Value Binary(const char* op, const Operand& a, const Operand& b) {
  return OpCall(op, a.where()).In(a).In(b).One();
}

}  // namespace

Value MakeConstant(const Tensor& value, std::source_location where) {
  const ScopePtr scope = GraphState::Current(where)->scope();
  return scope->ValueAt(scope->AddConstant(value, "", where));
}

GYRE_EXPORT Value operator+(const Operand& a, const Operand& b) { return Binary("AddV2", a, b); }
GYRE_EXPORT Value operator-(const Operand& a, const Operand& b) { return Binary("Sub", a, b); }
GYRE_EXPORT Value operator*(const Operand& a, const Operand& b) { return Binary("Mul", a, b); }
GYRE_EXPORT Value operator/(const Operand& a, const Operand& b) { return Binary("Div", a, b); }
GYRE_EXPORT Value operator%(const Operand& a, const Operand& b) { return Binary("Mod", a, b); }
GYRE_EXPORT Value operator-(const Operand& a) { return OpCall("Neg", a.where()).In(a).One(); }
GYRE_EXPORT Value operator<(const Operand& a, const Operand& b) { return Binary("Less", a, b); }
GYRE_EXPORT Value operator<=(const Operand& a, const Operand& b) {
  return Binary("LessEqual", a, b);
}
GYRE_EXPORT Value operator>(const Operand& a, const Operand& b) { return Binary("Greater", a, b); }
GYRE_EXPORT Value operator>=(const Operand& a, const Operand& b) {
  return Binary("GreaterEqual", a, b);
}
GYRE_EXPORT Value operator!(const Operand& a) {
  return OpCall("LogicalNot", a.where()).In(a).One();
}
GYRE_EXPORT Value operator&&(const Operand& a, const Operand& b) {
  return Binary("LogicalAnd", a, b);
}
GYRE_EXPORT Value operator||(const Operand& a, const Operand& b) {
  return Binary("LogicalOr", a, b);
}

}  // namespace internal
}  // namespace gyre
