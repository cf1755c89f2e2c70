#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/state.h"

namespace gyre {

using internal::OpCall;

namespace {

Operand In(const Value& handle, const std::source_location& where) {
  return Operand(handle, where);
}

Value MakeHandle(const internal::ScopePtr& scope, const std::string& name, DType dtype,
                 const PartialShape& shape, const std::source_location& where) {
  if (!scope->is_main()) {
    internal::Throw(absl::FailedPreconditionError(
        absl::StrCat("variable '", name, "' cannot be made in ", scope->description().what, " at ",
                     scope->description().line,
                     ", which may be traced and run any number of times: make it outside, and use "
                     "it here\n  at ",
                     internal::LineOf(where))));
  }
  AttrMap attrs;
  attrs.Set("dtype", dtype);
  attrs.Set("shape", shape);
  attrs.Set("shared_name", name);
  return scope->ValueAt(
      {scope->Add({.op = "VarHandleOp", .attrs = std::move(attrs), .name = name, .where = where}),
       0});
}

}  // namespace

Variable::Variable(const std::string& name, const Operand& initial,
                   std::optional<PartialShape> shape) {
  const std::source_location& where = initial.where();
  const Value value = to_value(initial);
  const internal::ScopePtr scope = value.scope()->graph()->scope();
  dtype_ = value.dtype();
  shape_ = shape.value_or(value.shape());
  name_ = scope->graph()->UniqueVariableName(name);
  handle_ = MakeHandle(scope, name_, dtype_, shape_, where);
  initializer_ = OpCall("AssignVariableOp", where)
                     .In(In(handle_, where))
                     .In(Operand(value, where))
                     .Name(absl::StrCat(name_, "/initializer"))
                     .Apart()
                     .Add();
  scope->graph()->initializers().push_back(initializer_);
}

Value Variable::read(std::source_location where) const {
  return OpCall("ReadVariableOp", where)
      .In(In(handle_, where))
      .Attr("dtype", dtype_)
      .Name(absl::StrCat(name_, "/read"))
      .One();
}

Operation Variable::Update(const char* op, const Operand& value) const {
  return OpCall(op, value.where())
      .In(In(handle_, value.where()))
      .In(value)
      .Attr("dtype", dtype_)
      .Add();
}

Operation Variable::assign(const Operand& value) const { return Update("AssignVariableOp", value); }
Operation Variable::assign_add(const Operand& value) const {
  return Update("AssignAddVariableOp", value);
}
Operation Variable::assign_sub(const Operand& value) const {
  return Update("AssignSubVariableOp", value);
}

}  // namespace gyre
