#include "python/functions/formula_runner.h"

#include <cmath>

#include "absl/container/inlined_vector.h"
#include "python/arrays/convert.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/tensor.h"

namespace gyre::python {

Term FormulaRunner::Add(nb::object tensor) {
  const DType dtype = AsTensor(tensor)->dtype();
  return Keep({.object = std::move(tensor), .dtype = dtype});
}

nb::object FormulaRunner::TensorOf(Term x) const {
  const Value& value = values_[x.place()];
  return value.object.is_valid() ? value.object : Convert(WrapEager(value.literal));
}

nb::object FormulaRunner::TensorAs(Term x, DType dtype) const {
  const Value& value = values_[x.place()];
  if (value.dtype == dtype) return TensorOf(x);
  if (!value.object.is_valid()) return Convert(WrapEager(CastTo(value.literal, dtype)));
  return Execute1("Cast", {value.object}, {{"DstT", dtype}});
}

Term FormulaRunner::Op(absl::string_view op, const std::vector<Term>& inputs, AttrMap attrs,
                       bool is_last) {
  absl::InlinedVector<LooseInput, 4> given;
  for (const Term& input : inputs) {
    const Value& value = values_[input.place()];
    given.push_back({value.object, value.object.is_valid() ? nullptr : &value.literal});
  }
  const absl::string_view name = is_last ? name_ : absl::string_view();
  return Add(std::move(Execute(FindOp(op), given, std::move(attrs), name).at(0)));
}

Term FormulaRunner::Ints(absl::Span<const int32_t> values) {
  if (CurrentGraph() == nullptr) return FormulaBuilder::Ints(values);
  nb::list list;
  for (const int32_t value : values) list.append(value);
  return Add(Convert(list, DType::kInt32));
}

Term FormulaRunner::Number(DType dtype, double value) {
  if (dtype == DType::kFloat) return Constant(Tensor::Scalar(static_cast<float>(value)));
  if (dtype == DType::kDouble) return Constant(Tensor::Scalar(value));
  if (IsInteger(dtype) && value != std::trunc(value))
    return Keep({.object = nb::float_(value), .dtype = dtype});
  return Constant(CastTo(Tensor::Scalar(value), dtype));
}

PartialShape FormulaRunner::ShapeOf(Term x) const {
  const Value& value = values_[x.place()];
  return value.object.is_valid() ? AsTensor(value.object)->shape()
                                 : PartialShape(value.literal.shape());
}

}  // namespace gyre::python
