// OpCall: one call of an op with operands: what all functions that add a node are made of.
//
//   return OpCall("Concat", where).In(axis).In(values).Attr("N", 2).One();
//
// Literal operands become constants of the types that the op's schema and the other operands ask
// for. The node goes where the graph of the operands (or the current graph) is being traced.
// Mistakes are thrown as Errors. Used once, by one thread.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "front/scope.h"
#include "gyre/value.h"
#include "ir/attr.h"

namespace gyre::internal {

class GYRE_INTERNAL_EXPORT OpCall {
 public:
  OpCall(absl::string_view op, const std::source_location& where);

  // The next formal input: one operand, or a list.
  OpCall& In(const Operand& operand);
  OpCall& In(const OperandList& operands) { return In(operands.list()); }
  OpCall& In(const std::vector<Operand>& operands);
  OpCall& In(const std::vector<Value>& values);
  OpCall& Attr(absl::string_view name, AttrValue value);
  OpCall& Name(std::string name);
  // See NodeRequest.
  OpCall& Apart();
  OpCall& Awaiting(std::vector<Operation> operations);

  // Adds the node.
  Operation Add();
  // The same, for its first output, or all.
  Value One();
  std::vector<Value> All();
  // The outputs of formal output `arg`, of a node that Add returned.
  static std::vector<Value> Outputs(const Operation& operation, int arg);

 private:
  ScopePtr FindScope() const;
  void BindTypes();
  DType WantedType(const ArgDef& arg) const;
  DType TypeOfLiterals(const AttrDef& attr) const;
  // `input`: the formal one that it is for.
  Endpoint Resolve(Scope& scope, const Operand& operand, DType wanted,
                   absl::string_view input) const;

  const OpDef* op_;
  NodeRequest request_;
  std::vector<std::vector<Operand>> inputs_;  // by formal input
};

// Operands by themselves, in the scope that is being traced.
Value ValueOf(const Operand& operand);
// The scope that a construct with these operands stands in.
ScopePtr CurrentScope(absl::Span<const Value> values, const std::source_location& where);
// The innermost of the current scope and those around it in which one of these was made; the
// current one if none was.
ScopePtr ScopeOfAll(absl::Span<const Value> values, const std::source_location& where);

}  // namespace gyre::internal
