// FormulaRunner: runs the ops of formulas at once, or adds them to the graph that is current, one
// by one, so that tapes see them as they see all others. Used once, with the GIL held.
#pragma once

#include <string>
#include <vector>

#include "ops/functions/formula.h"
#include "python/python.h"

namespace gyre::python {

class FormulaRunner : public FormulaBuilder {
 public:
  // `name`: of the last op, in a graph.
  explicit FormulaRunner(absl::string_view name) : name_(name) {}

  // Requirement: a Tensor.
  Term Add(nb::object tensor);
  // A Tensor.
  nb::object TensorOf(Term x) const;
  // The same, of another type: what is known by now is converted without an op.
  nb::object TensorAs(Term x, DType dtype) const;

  Term Op(absl::string_view op, const std::vector<Term>& inputs, AttrMap attrs,
          bool is_last) override;
  Term Constant(const Tensor& value) override {
    return Keep({.literal = value, .dtype = value.dtype()});
  }
  // In a graph a node by itself, which users of sessions know as "Const".
  Term Ints(absl::Span<const int32_t> values) override;
  // What is no number of the type is said by the op that is to take it.
  Term Number(DType dtype, double value) override;
  DType DTypeOf(Term x) const override { return values_[x.place()].dtype; }
  PartialShape ShapeOf(Term x) const override;
  [[noreturn]] void RefuseType(const std::string& text) const override { ThrowTypeError(text); }
  [[noreturn]] void RefuseValue(const std::string& text) const override { ThrowValueError(text); }

 private:
  struct Value {
    nb::object object;  // a Tensor, or a number that is no element of `dtype`; not valid: `literal`
    Tensor literal;
    DType dtype;
  };

  Term Keep(Value value) {
    values_.push_back(std::move(value));
    return {this, static_cast<int>(values_.size() - 1)};
  }

  const absl::string_view name_;
  std::vector<Value> values_;
};

}  // namespace gyre::python
