#include "front/op_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "ops/registry.h"
#include "session/literal.h"

namespace gyre::internal {

OpCall::OpCall(absl::string_view op, const std::source_location& where) : op_(Ops().Find(op)) {
  request_.op = std::string(op);
  request_.where = where;
  if (op_ == nullptr) ThrowInvalid(absl::StrCat("there is no op called ", op), where);
}

OpCall& OpCall::In(const Operand& operand) {
  inputs_.push_back({operand});
  return *this;
}

OpCall& OpCall::In(const std::vector<Operand>& operands) {
  inputs_.push_back(operands);
  return *this;
}

OpCall& OpCall::In(const std::vector<Value>& values) {
  return In(OperandList(values, request_.where));
}

OpCall& OpCall::Attr(absl::string_view name, AttrValue value) {
  request_.attrs.Set(name, std::move(value));
  return *this;
}

OpCall& OpCall::Name(std::string name) {
  request_.name = std::move(name);
  return *this;
}

OpCall& OpCall::Apart() {
  request_.is_apart = true;
  return *this;
}

OpCall& OpCall::Awaiting(std::vector<Operation> operations) {
  request_.awaited = std::move(operations);
  return *this;
}

ScopePtr OpCall::FindScope() const {
  for (const auto& operands : inputs_) {
    for (const Operand& operand : operands) {
      if (!operand.is_literal() && operand.value().has_value())
        return operand.value().scope()->graph()->scope();
    }
  }
  return GraphState::Current(request_.where)->scope();
}

// The attributes that name types of inputs, as the operands tell them: Values first, then literals.
void OpCall::BindTypes() {
  for (size_t i = 0; i < inputs_.size() && i < op_->inputs.size(); ++i) {
    const std::string& attr = op_->inputs[i].type_attr;
    for (const Operand& operand : inputs_[i]) {
      if (attr.empty() || operand.is_literal() || request_.attrs.Has(attr)) continue;
      if (operand.value().has_value()) request_.attrs.Set(attr, operand.value().dtype());
    }
  }
  for (const AttrDef& attr : op_->attrs) {
    if (attr.kind != AttrKind::kType || attr.is_list || request_.attrs.Has(attr.name)) continue;
    const DType type = TypeOfLiterals(attr);
    if (type != DType::kInvalid) request_.attrs.Set(attr.name, type);
  }
}

// kInvalid when no literal has a type of this name.
DType OpCall::TypeOfLiterals(const AttrDef& attr) const {
  DType type = DType::kInvalid;
  for (size_t i = 0; i < inputs_.size() && i < op_->inputs.size(); ++i) {
    if (op_->inputs[i].type_attr != attr.name) continue;
    for (const Operand& operand : inputs_[i]) {
      if (!operand.is_literal()) continue;
      const DType literal = operand.literal().dtype();
      type = type == DType::kInvalid ? literal : CommonType(type, literal);
    }
  }
  const DType* fallback = attr.default_value ? std::get_if<DType>(&*attr.default_value) : nullptr;
  return fallback != nullptr && IsInteger(type) && IsInteger(*fallback) ? *fallback : type;
}

// kInvalid: any.
DType OpCall::WantedType(const ArgDef& arg) const {
  if (!arg.type_attr.empty()) return request_.attrs.GetOr<DType>(arg.type_attr, DType::kInvalid);
  return arg.dtype;
}

Endpoint OpCall::Resolve(Scope& scope, const Operand& operand, DType wanted,
                         absl::string_view input) const {
  if (!operand.is_literal()) return scope.Use(operand.value(), operand.where());
  absl::StatusOr<Tensor> constant = operand.literal();
  if (wanted != DType::kInvalid) constant = ConvertLiteral(operand.literal(), wanted);
  if (!constant.ok()) {
    ThrowInvalid(absl::StrCat(constant.status().message(), "\n  as an input of ", request_.op),
                 operand.where());
  }
  if (!request_.has_final_name) return scope.AddConstant(*constant, "", operand.where());
  return scope.AddConstant(*constant, scope.ClaimInputName(request_.name, input), operand.where(),
                           /*has_final_name=*/true);
}

Operation OpCall::Add() {
  const ScopePtr scope = FindScope();
  if (inputs_.size() != op_->inputs.size()) {
    ThrowInvalid(
        absl::StrCat(request_.op, " takes ", op_->inputs.size(), " inputs, not ", inputs_.size()),
        request_.where);
  }
  BindTypes();
  if (std::string name = scope->ClaimName(request_); !name.empty()) {
    request_.name = std::move(name);
    request_.has_final_name = true;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const DType wanted = WantedType(op_->inputs[i]);
    for (const Operand& operand : inputs_[i])
      request_.inputs.push_back(Resolve(*scope, operand, wanted, op_->inputs[i].name));
  }
  return Operation(scope, scope->Add(std::move(request_)));
}

Value OpCall::One() {
  const Operation operation = Add();
  return Value(operation.scope(), operation.node(), 0);
}

std::vector<Value> OpCall::All() {
  const Operation operation = Add();
  std::vector<Value> values;
  const int n = operation.scope()->function().node(operation.node()).num_outputs();
  for (int i = 0; i < n; ++i) values.emplace_back(operation.scope(), operation.node(), i);
  return values;
}

std::vector<Value> OpCall::Outputs(const Operation& operation, int arg) {
  const Node& node = operation.scope()->function().node(operation.node());
  const auto [begin, end] = ValueOrThrow(ArgRange(*node.op, node.attrs, /*is_output=*/true, arg));
  std::vector<Value> values;
  for (int i = begin; i < end; ++i) values.emplace_back(operation.scope(), operation.node(), i);
  return values;
}

Value ValueOf(const Operand& operand) {
  if (!operand.is_literal()) return operand.value();
  return MakeConstant(operand.literal(), operand.where());
}

ScopePtr CurrentScope(absl::Span<const Value> values, const std::source_location& where) {
  for (const Value& value : values) {
    if (value.has_value()) return value.scope()->graph()->scope();
  }
  return GraphState::Current(where)->scope();
}

ScopePtr ScopeOfAll(absl::Span<const Value> values, const std::source_location& where) {
  const ScopePtr current = CurrentScope(values, where);
  for (ScopePtr scope = current; scope != nullptr; scope = scope->parent()) {
    for (const Value& value : values)
      if (value.has_value() && value.scope() == scope) return scope;
  }
  return current;
}

}  // namespace gyre::internal
