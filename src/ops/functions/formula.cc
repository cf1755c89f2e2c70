#include "ops/functions/formula.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

Term Op(absl::string_view op, const std::vector<Term>& inputs, AttrMap attrs = {}) {
  return inputs[0].builder().Op(op, inputs, std::move(attrs), /*is_last=*/false);
}

Term NumberLike(Term x, double value) { return x.builder().Number(x.dtype(), value); }

}  // namespace

DType Term::dtype() const { return builder_->DTypeOf(*this); }

Term FormulaBuilder::Ints(absl::Span<const int32_t> values) {
  return Constant(Tensor::FromValues(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}

Term operator+(Term x, Term y) { return Op("AddV2", {x, y}); }
Term operator-(Term x, Term y) { return Op("Sub", {x, y}); }
Term operator*(Term x, Term y) { return Op("Mul", {x, y}); }
Term operator/(Term x, Term y) { return Op("RealDiv", {x, y}); }
Term operator-(Term x) { return Op("Neg", {x}); }
Term operator+(Term x, double y) { return x + NumberLike(x, y); }
Term operator-(Term x, double y) { return x - NumberLike(x, y); }
Term operator*(Term x, double y) { return x * NumberLike(x, y); }
Term operator-(double x, Term y) { return NumberLike(y, x) - y; }

Term Cast(Term x, DType dtype) {
  return x.dtype() == dtype ? x : Op("Cast", {x}, {{"DstT", dtype}});
}
Term Reshape(Term x, Term shape) { return Op("Reshape", {x, shape}); }
Term ShapeOf(Term x) { return Op("Shape", {x}); }
Term ZerosLike(Term x) { return Op("ZerosLike", {x}); }
Term OnesLike(Term x) { return Op("OnesLike", {x}); }
Term Where(Term condition, Term then, Term otherwise) {
  return Op("SelectV2", {condition, then, otherwise});
}

int FormulaContext::Rank(Term x, absl::string_view function, absl::string_view name, int least) {
  const PartialShape known = shape(x);
  if (!known.has_rank()) {
    builder_.RefuseValue(absl::StrCat(function, " needs to know the rank of '", name,
                                      "': give it a shape, say with ", "gyre.ensure_shape(", name,
                                      ", [None, None]), set_shape, or a TensorSpec"));
  }
  if (known.rank() < least) {
    builder_.RefuseValue(absl::StrCat(function, " takes '", name, "' of rank ", least,
                                      " or more, not of shape ", known.ToString()));
  }
  return known.rank();
}

std::vector<int32_t> FormulaContext::SwapWithLast(Term x, int64_t axis, absl::string_view function,
                                                  absl::string_view name) {
  const int rank = Rank(x, function, name, 1);
  if (axis < -rank || axis >= rank) {
    builder_.RefuseValue(absl::StrCat(function, ": axis ", axis, " is out of range [", -rank, ", ",
                                      rank, ") for '", name, "' of rank ", rank));
  }
  std::vector<int32_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis < 0 ? axis + rank : axis], order[rank - 1]);
  return order;
}

Term FormulaContext::Sizes(int i, DType dtype) {
  const Argument& given = arguments_[i];
  if (given.tensor.dtype() == dtype || !given.dims) return Cast(given.tensor, dtype);
  const auto rank = Shape::Vector(static_cast<int64_t>(given.dims->size()));
  if (dtype == DType::kInt64)
    return builder_.Constant(Tensor::FromValues<int64_t>(*given.dims, rank));
  const std::vector<int32_t> sizes(given.dims->begin(), given.dims->end());
  return builder_.Ints(sizes);
}

Term FormulaContext::Axes(int i, Term x) {
  const Argument& given = arguments_[i];
  if (given.tensor.has_value()) return given.tensor;
  if (given.axes && given.is_one_axis) return builder_.Int((*given.axes)[0]);
  return given.axes ? builder_.Ints(*given.axes) : AllAxes(x);
}

Term FormulaContext::AllAxes(Term x) {
  const PartialShape known = shape(x);
  if (!known.has_rank()) {
    const Term rank = op("Rank", {x});
    return op("Range", {builder_.Int(0), rank, builder_.Int(1)});
  }
  std::vector<int32_t> all(known.rank());
  std::iota(all.begin(), all.end(), 0);
  return builder_.Ints(all);
}

}  // namespace gyre
