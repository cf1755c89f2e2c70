#include "ops/array/integers.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/array/layout.h"

namespace gyre {
namespace {

bool IsDimensionType(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

bool Fits(int64_t value, DType dtype) {
  return dtype == DType::kInt64 || value <= std::numeric_limits<int32_t>::max();
}

Tensor IntegerTensor(DType dtype, absl::Span<const int64_t> values, const Shape& shape) {
  if (dtype == DType::kInt64) return Tensor::FromValues<int64_t>(values, shape);
  const absl::InlinedVector<int32_t, 4> narrow(values.begin(), values.end());
  return Tensor::FromValues<int32_t>(narrow, shape);
}

}  // namespace

absl::StatusOr<Dims> IntegerElements(const Tensor& t, absl::string_view what) {
  Dims result;
  const absl::Status status = VisitType<AnyIndexTypes>(t.dtype(), [&](auto tag) {
    const auto values = t.values<typename decltype(tag)::type>();
    result.assign(values.begin(), values.end());
    return absl::OkStatus();
  });
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be integers, but they are ", DTypeName(t.dtype())));
  }
  return result;
}

absl::StatusOr<Dims> IntegerList(const Tensor& t, absl::string_view what) {
  if (t.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be 1-D, but has shape ", t.shape().ToString()));
  }
  if (t.num_elements() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has ", t.num_elements(), " elements; at most ", Shape::kMaxRank, " are allowed"));
  }
  return IntegerElements(t, what);
}

absl::StatusOr<int64_t> IntegerScalar(const Tensor& t, absl::string_view what) {
  if (t.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a scalar, but has shape ", t.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims values, IntegerElements(t, what));
  return values[0];
}

absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, absl::string_view what) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected ", what, " in the range [", -rank, ", ", rank, "), but got ", axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::string ListToString(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string Coordinates(const Shape& shape, int64_t offset) {
  Dims index(shape.rank());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = offset % shape.dim(i);
    offset /= shape.dim(i);
  }
  return absl::StrJoin(index, ",");
}

std::optional<PartialShape> KnownDims(const ShapeContext& ctx, int i) {
  if (!IsDimensionType(ctx.input_dtype(i)) || !ctx.input(i).has_rank() ||
      ctx.input(i).rank() != 1) {
    return std::nullopt;
  }
  absl::StatusOr<PartialShape> dims = ctx.InputAsShape(i);
  if (!dims.ok() || !dims->has_rank()) return std::nullopt;
  return *std::move(dims);
}

void SetDims(ShapeContext& ctx, int i, PartialShape dims) {
  const DType dtype = ctx.output_dtype(i);
  if (!IsDimensionType(dtype) || !dims.has_rank() || dims.rank() > Shape::kMaxRank) return;
  const auto values = dims.dims();
  if (std::all_of(values.begin(), values.end(),
                  [&](int64_t d) { return d >= 0 && Fits(d, dtype); })) {
    ctx.set_output_constant(i, IntegerTensor(dtype, values, Shape::Vector(dims.rank())));
  }
  ctx.set_output_as_shape(i, std::move(dims));
}

void SetIntScalar(ShapeContext& ctx, int i, int64_t value) {
  const DType dtype = ctx.output_dtype(i);
  if (!IsDimensionType(dtype) || value < 0 || !Fits(value, dtype)) return;
  ctx.set_output_constant(i, IntegerTensor(dtype, {value}, Shape()));
}

}  // namespace gyre
