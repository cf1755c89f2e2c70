#include "ops/signal/spectrum_shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

absl::Status CheckLength(int64_t length) {
  if (length >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("fft_length must be non-negative, got: ", length));
}

}  // namespace

absl::StatusOr<Shape> SpectrumAxes::Resized(const Shape& shape, int64_t last) const {
  Dims dims(shape.dims().begin(), shape.dims().end());
  for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = lengths[i];
  dims[axes.back()] = last;
  return Shape::Make(dims);
}

absl::StatusOr<SpectrumAxes> AxesInputs(const KernelContext& ctx) {
  const int rank = ctx.input(0).rank();
  if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("fft_length and axes must be vectors, but their shapes are ",
                     ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString()));
  }
  SpectrumAxes result;
  GYRE_ASSIGN_OR_RETURN(result.lengths, ctx.IntVector(1, "fft_length"));
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ctx.IntVector(2, "axes"));
  if (axes.size() != result.lengths.size() || axes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes and fft_length must have the same size, at least 1, but have ",
                     axes.size(), " and ", result.lengths.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis(axes[i], rank));
    GYRE_RETURN_IF_ERROR(CheckLength(result.lengths[i]));
    if (std::find(result.axes.begin(), result.axes.end(), axis) != result.axes.end()) {
      return absl::InvalidArgumentError(absl::StrCat("axes has axis ", axis, " twice"));
    }
    result.axes.push_back(axis);
  }
  return result;
}

absl::StatusOr<SpectrumAxes> LastAxes(const KernelContext& ctx, int count) {
  const Shape& shape = ctx.input(0).shape();
  if (shape.rank() < count) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have rank of at least ", count, " but got: ", shape.ToString()));
  }
  SpectrumAxes result;
  if (ctx.input(1).rank() != 1 || ctx.input(1).num_elements() != count) {
    return absl::InvalidArgumentError(absl::StrCat("fft_length must have shape [", count,
                                                   "], but has ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(result.lengths, ctx.IntVector(1, "fft_length"));
  for (int i = 0; i < count; ++i) {
    GYRE_RETURN_IF_ERROR(CheckLength(result.lengths[i]));
    result.axes.push_back(shape.rank() - count + i);
  }
  return result;
}

absl::Status LastShape(ShapeContext& c, int count, SpectrumEnd end) {
  const PartialShape& input = c.input(0);
  const absl::StatusOr<PartialShape> lengths_shape =
      c.input(1).Intersect(PartialShape(Shape::Vector(count)));
  if (!lengths_shape.ok()) return Annotate(lengths_shape.status(), "fft_length");
  if (!input.has_rank()) return absl::OkStatus();
  if (input.rank() < count) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have rank of at least ", count, " but got: ", input.ToString()));
  }
  Dims dims(input.dims().begin(), input.dims().end());
  const std::optional<std::vector<int64_t>> lengths = c.input_ints(1);
  for (int i = 0; i < count; ++i) {
    int64_t& dim = dims[input.rank() - count + i];
    dim = -1;
    if (!lengths || static_cast<int>(lengths->size()) != count) continue;
    GYRE_RETURN_IF_ERROR(CheckLength((*lengths)[i]));
    dim = (*lengths)[i];
    if (i == count - 1 && end == SpectrumEnd::kHalf && dim != 0) dim = dim / 2 + 1;
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

template <SpectrumEnd kEnd>
absl::Status ManyShape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  if (!input.has_rank()) return absl::OkStatus();
  const std::optional<std::vector<int64_t>> lengths = c.input_ints(1), axes = c.input_ints(2);
  if (!axes) {
    c.set_output(0, PartialShape::UnknownOfRank(input.rank()));
    return absl::OkStatus();
  }
  Dims dims(input.dims().begin(), input.dims().end());
  for (size_t i = 0; i < axes->size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis((*axes)[i], input.rank()));
    dims[axis] = -1;
    if (!lengths || lengths->size() != axes->size()) continue;
    GYRE_RETURN_IF_ERROR(CheckLength((*lengths)[i]));
    dims[axis] = (*lengths)[i];
    if (i + 1 == axes->size() && kEnd == SpectrumEnd::kHalf && dims[axis] != 0)
      dims[axis] = dims[axis] / 2 + 1;
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}
template absl::Status ManyShape<SpectrumEnd::kWhole>(ShapeContext&);
template absl::Status ManyShape<SpectrumEnd::kHalf>(ShapeContext&);

Expr LastSizes(GradientContext& g, Expr dims, int count) {
  ExprBuilder& b = g.builder();
  const Expr last = g.op("StridedSlice", {dims, b.Ints({-count}), b.Ints({0}), b.Ints({1})},
                         {{"end_mask", int64_t{1}}});
  return g.op("Prod", {last, b.Int(0)});
}

}  // namespace gyre
