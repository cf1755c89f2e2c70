// Reading integer tensors (axes, sizes, indices) whatever their width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"

namespace gyre {

// Types that an index, an axis or a size may have.
using AnyIndexTypes = Types<int32_t, int64_t, int16_t, int8_t, uint8_t, uint16_t>;

// All elements of `t`, in row-major order; INVALID_ARGUMENT naming `what` when its dtype is not in
// AnyIndexTypes. For short lists: nobody is charged for the result.
absl::StatusOr<Dims> IntegerElements(const Tensor& t, absl::string_view what);

// As IntegerElements, for one integer per dimension; INVALID_ARGUMENT unless `t` is a vector (or,
// as old graphs have it, a scalar) of at most Shape::kMaxRank elements.
absl::StatusOr<Dims> IntegerList(const Tensor& t, absl::string_view what);

// The value of `t`; INVALID_ARGUMENT naming `what` unless it is an integer scalar.
absl::StatusOr<int64_t> IntegerScalar(const Tensor& t, absl::string_view what);

// `axis` counted from the front; INVALID_ARGUMENT naming `what` when it is not in [-rank, rank).
absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, absl::string_view what);

// "[2,3]": a list of integers for messages.
std::string ListToString(absl::Span<const int64_t> values);

// The coordinates of element `offset` of a tensor of this shape, for messages: "0,1".
std::string Coordinates(const Shape& shape, int64_t offset);

// For shape rules: what is known of input i, a vector of integers, if it can be dimensions. Empty
// when the length is unknown or the elements are not dimensions.
std::optional<PartialShape> KnownDims(const ShapeContext& ctx, int i);

// For shape rules: output i is this list of dimensions, as much of it as is known.
void SetDims(ShapeContext& ctx, int i, PartialShape dims);

// For shape rules: output i is the integer scalar `value`; left alone when that is negative
// (unknown) or does not fit the output's dtype.
void SetIntScalar(ShapeContext& ctx, int i, int64_t value);

}  // namespace gyre
