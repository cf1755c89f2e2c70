// Formulas: public functions that are several ops, written once. C++ adds their ops to the graph
// that it builds; Python does, too, or runs them at once.
//
//   // The inverse of erfc.
//   std::vector<Term> InverseErfc(FormulaContext& f) {
//     const Term quantile = f.op("Ndtri", {f.tensor(0) * 0.5});
//     return {f.Last("Mul", {quantile, f.Number(quantile.dtype(), -0.70710678118654752440)})};
//   }
//
// A mistake throws what the caller's language throws. Ops of one expression are made in the order
// in which C++ evaluates it: where two operands make ops, name one first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ir/attr.h"

namespace gyre {

class FormulaBuilder;

// A value of a formula: a handle, good as long as its builder is.
class Term {
 public:
  Term() = default;
  Term(FormulaBuilder* builder, int place) : builder_(builder), place_(place) {}

  bool has_value() const { return builder_ != nullptr; }
  int place() const { return place_; }
  // Requirement for both: has_value().
  FormulaBuilder& builder() const { return *builder_; }
  DType dtype() const;

 private:
  FormulaBuilder* builder_ = nullptr;
  int place_ = -1;
};

// Where the ops of a formula go. Throws what goes wrong.
class GYRE_INTERNAL_EXPORT FormulaBuilder {
 public:
  virtual ~FormulaBuilder() = default;

  // The first output of an op. `is_last`: it has the name that the caller wants.
  virtual Term Op(absl::string_view op, const std::vector<Term>& inputs, AttrMap attrs,
                  bool is_last) = 0;
  virtual Term Constant(const Tensor& value) = 0;
  // A scalar of a numeric type.
  virtual Term Number(DType dtype, double value) = 0;
  virtual DType DTypeOf(Term x) const = 0;
  // As far as it is known.
  virtual PartialShape ShapeOf(Term x) const = 0;
  // An argument is of a type, or has a value, that cannot be.
  [[noreturn]] virtual void RefuseType(const std::string& text) const = 0;
  [[noreturn]] virtual void RefuseValue(const std::string& text) const = 0;

  // int32: a scalar, a vector.
  Term Int(int32_t value) { return Constant(Tensor::Scalar(value)); }
  virtual Term Ints(absl::Span<const int32_t> values);
};

// Elementwise, with broadcasting; numbers take the type of the other operand.
Term operator+(Term x, Term y);
Term operator-(Term x, Term y);
Term operator*(Term x, Term y);
Term operator/(Term x, Term y);
Term operator-(Term x);
Term operator+(Term x, double y);
Term operator-(Term x, double y);
Term operator*(Term x, double y);
Term operator-(double x, Term y);

// As it is when it has the type.
Term Cast(Term x, DType dtype);
Term Reshape(Term x, Term shape);
Term ShapeOf(Term x);
Term ZerosLike(Term x);
Term OnesLike(Term x);
// Elements of `then` where `condition` holds, of `otherwise` elsewhere; all broadcast.
Term Where(Term condition, Term then, Term otherwise);

// What a parameter that is no tensor is given; nothing: None.
using PlainValue =
    std::variant<std::monostate, bool, int64_t, double, DType, std::string, std::vector<int64_t>>;

// What one parameter of a function is given.
struct Argument {
  Term tensor = {};       // of a tensor or shape, unless None; of axes that only the run knows
  PlainValue plain = {};  // of all others
  std::optional<std::vector<int32_t>> axes = {};  // which are known now
  bool is_one_axis = false;                       // rather than a list of one
  std::optional<std::vector<int64_t>> dims = {};  // of a shape that is known now; -1: not this one
  bool is_default = false;                        // it has the value that its default says
};

// What a formula sees of one call.
class FormulaContext {
 public:
  FormulaContext(FormulaBuilder& builder, std::vector<Argument> arguments)
      : builder_(builder), arguments_(std::move(arguments)) {}

  // Arguments, by their place. Requirement: the parameter is of that kind.
  Term tensor(int i) const { return arguments_[i].tensor; }
  bool has(int i) const { return arguments_[i].tensor.has_value(); }
  bool is_default(int i) const { return arguments_[i].is_default; }
  template <typename T>
  const T& plain(int i) const {
    return std::get<T>(arguments_[i].plain);
  }
  const Argument& argument(int i) const { return arguments_[i]; }
  // Whether a parameter that is no tensor was given anything.
  bool is_given(int i) const { return arguments_[i].plain.index() != 0; }
  // The sizes of a shape as a vector of this type.
  Term Sizes(int i, DType dtype);

  FormulaBuilder& builder() { return builder_; }
  PartialShape shape(Term x) const { return builder_.ShapeOf(x); }
  // The rank of argument `name` of `function`, which must be known and at least `least`.
  int Rank(Term x, absl::string_view function, absl::string_view name, int least);
  // The permutation that swaps an axis of it with the last.
  std::vector<int32_t> SwapWithLast(Term x, int64_t axis, absl::string_view function,
                                    absl::string_view name);

  Term op(absl::string_view name, const std::vector<Term>& inputs, AttrMap attrs = {}) {
    return builder_.Op(name, inputs, std::move(attrs), /*is_last=*/false);
  }
  // The op that computes the result: it gets the name that the caller wants.
  Term Last(absl::string_view name, const std::vector<Term>& inputs, AttrMap attrs = {}) {
    return builder_.Op(name, inputs, std::move(attrs), /*is_last=*/true);
  }
  Term Number(DType dtype, double value) { return builder_.Number(dtype, value); }
  Term Zero(DType dtype) { return Number(dtype, 0); }
  Term One(DType dtype) { return Number(dtype, 1); }

  // The axes that argument i says, of x, as the operand of a reduction.
  Term Axes(int i, Term x);
  // A reduction of x along the axes that argument `axes` says.
  Term Reduce(absl::string_view op_name, Term x, int axes, bool keep_dims) {
    return op(op_name, {x, Axes(axes, x)}, {{"keep_dims", keep_dims}});
  }
  // The same, as the result.
  Term LastReduce(absl::string_view op_name, Term x, int axes, bool keep_dims) {
    return Last(op_name, {x, Axes(axes, x)}, {{"keep_dims", keep_dims}});
  }
  // The same along all axes.
  Term LastReduceAll(absl::string_view op_name, Term x) {
    return Last(op_name, {x, AllAxes(x)}, {{"keep_dims", false}});
  }

 private:
  Term AllAxes(Term x);

  FormulaBuilder& builder_;
  const std::vector<Argument> arguments_;
};

using FormulaFn = std::function<std::vector<Term>(FormulaContext&)>;

}  // namespace gyre
