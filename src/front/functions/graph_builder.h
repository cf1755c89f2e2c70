// GraphBuilder: adds the ops of formulas where the graph is being traced. Mistakes are thrown as
// Errors with the line of the call. Used by one thread.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "gyre/value.h"
#include "ops/functions/formula.h"

namespace gyre::internal {

class GraphBuilder : public FormulaBuilder {
 public:
  explicit GraphBuilder(const std::source_location& where) : where_(where) {}

  Term Add(Operand operand);
  const Operand& operand(Term x) const { return operands_[x.place()]; }

  Term Op(absl::string_view name, const std::vector<Term>& inputs, AttrMap attrs,
          bool is_last) override;
  Term Constant(const Tensor& value) override { return Add(Operand(value, where_)); }
  Term Number(DType dtype, double value) override;
  DType DTypeOf(Term x) const override;
  PartialShape ShapeOf(Term x) const override;
  [[noreturn]] void RefuseType(const std::string& text) const override;
  [[noreturn]] void RefuseValue(const std::string& text) const override;

 private:
  const std::source_location where_;
  std::vector<Operand> operands_;
};

}  // namespace gyre::internal
