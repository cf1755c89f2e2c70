#include "ops/array/strided_slice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/array/integers.h"

namespace gyre {
namespace {

using Values = std::optional<absl::Span<const int64_t>>;

// Masks have a bit per element, and the wire's graphs keep them in 32 bits.
constexpr int kMaxLength = 31;

bool Bit(int64_t mask, int i) { return (mask >> i) & 1; }

// One element of begin, end and strides, matched with the dimension it cuts.
struct Cut {
  std::optional<int64_t> begin, end, stride;
  bool whole_begin = true;
  bool whole_end = true;
  bool is_index = false;
};

// The result's dimensions in order: a dimension of the input, or a new one.
constexpr int kNewAxis = -1;

struct Matched {
  absl::InlinedVector<Cut, 4> cuts;         // per dimension of the input
  absl::InlinedVector<int, 4> result_axes;  // dimensions of the input, or kNewAxis
};

std::optional<int64_t> At(const Values& values, int i) {
  return values ? std::optional<int64_t>((*values)[i]) : std::nullopt;
}

// Spreads the elements over the dimensions: an ellipsis (one at the end if there is none) takes
// those that no element names.
absl::StatusOr<Matched> MatchDimensions(int rank, int length, const Values& begin,
                                        const Values& end, const Values& strides,
                                        const SliceMasks& masks) {
  int named = 0;
  int ellipsis = length;
  for (int i = 0; i < length; ++i) {
    if (Bit(masks.ellipsis, i)) {
      if (ellipsis < length) {
        return absl::InvalidArgumentError("Multiple ellipses in slice spec not allowed");
      }
      ellipsis = i;
    } else if (!Bit(masks.new_axis, i)) {
      ++named;
    }
  }
  if (named > rank) {
    return absl::InvalidArgumentError(absl::StrCat("Index out of range using input dim ", rank,
                                                   "; input has only ", rank, " dims"));
  }
  Matched matched;
  for (int i = 0; i <= length; ++i) {
    if (i == ellipsis) {
      for (int k = 0; k < rank - named; ++k) {
        matched.result_axes.push_back(static_cast<int>(matched.cuts.size()));
        matched.cuts.push_back({.begin = 0, .end = 0, .stride = 1});
      }
      continue;
    }
    if (i == length) break;
    if (Bit(masks.new_axis, i)) {
      matched.result_axes.push_back(kNewAxis);
      continue;
    }
    const bool is_index = Bit(masks.shrink_axis, i);
    if (!is_index) matched.result_axes.push_back(static_cast<int>(matched.cuts.size()));
    matched.cuts.push_back({At(begin, i), At(end, i), At(strides, i), Bit(masks.begin, i),
                            Bit(masks.end, i), is_index});
  }
  return matched;
}

// `x` (counted from the end when negative) as a bound of a walk over [low, high].
int64_t Bound(int64_t x, int64_t dim, int64_t low, int64_t high) {
  return std::clamp(x < 0 ? x + dim : x, low, high);
}

absl::StatusOr<SlicedShape::Axis> ResolveIndex(const Cut& cut, int d, int64_t dim) {
  SlicedShape::Axis axis;
  axis.is_range = false;
  if (cut.stride && *cut.stride < 0) {
    return absl::InvalidArgumentError("only stride 1 allowed on non-range indexing.");
  }
  if (dim < 0 || !cut.begin) return axis;
  axis.begin = *cut.begin < 0 ? *cut.begin + dim : *cut.begin;
  if (axis.begin < 0 || axis.begin >= dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("slice index ", *cut.begin, " of dimension ", d, " out of bounds."));
  }
  axis.size = 1;
  return axis;
}

absl::StatusOr<SlicedShape::Axis> ResolveCut(const Cut& cut, int d, int64_t dim) {
  if (cut.stride == 0) {
    return absl::InvalidArgumentError(absl::StrCat("strides[", d, "] must be non-zero"));
  }
  if (cut.is_index) return ResolveIndex(cut, d, dim);
  SlicedShape::Axis axis;
  if (dim < 0 || !cut.stride || !(cut.whole_begin || cut.begin) || !(cut.whole_end || cut.end)) {
    return axis;
  }
  const bool forward = *cut.stride > 0;
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? dim : dim - 1;
  const int64_t begin =
      cut.whole_begin ? (forward ? low : high) : Bound(*cut.begin, dim, low, high);
  const int64_t end = cut.whole_end ? (forward ? high : low) : Bound(*cut.end, dim, low, high);
  const int64_t length = end - begin;
  axis.begin = begin;
  axis.stride = *cut.stride;
  axis.size = 0;
  if (length != 0 && (length < 0) == !forward) {
    axis.size = length / axis.stride + (length % axis.stride != 0 ? 1 : 0);
  }
  return axis;
}

}  // namespace

SliceMasks::SliceMasks(const Node& node)
    : begin(NodeAttr<int64_t>(node, "begin_mask")),
      end(NodeAttr<int64_t>(node, "end_mask")),
      ellipsis(NodeAttr<int64_t>(node, "ellipsis_mask")),
      new_axis(NodeAttr<int64_t>(node, "new_axis_mask")),
      shrink_axis(NodeAttr<int64_t>(node, "shrink_axis_mask")) {}

int64_t SlicedShape::Offset(absl::Span<const int64_t> strides) const {
  int64_t offset = 0;
  for (size_t d = 0; d < axes.size(); ++d) offset += axes[d].begin * strides[d];
  return offset;
}

absl::StatusOr<SlicedShape> ResolveSlice(const PartialShape& shape, int length, Values begin,
                                         Values end, Values strides, const SliceMasks& masks) {
  if (length > kMaxLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "begin, end and strides have ", length, " elements; at most ", kMaxLength, " are allowed"));
  }
  GYRE_ASSIGN_OR_RETURN(const Matched matched,
                        MatchDimensions(shape.rank(), length, begin, end, strides, masks));
  SlicedShape sliced;
  for (int d = 0; d < shape.rank(); ++d) {
    GYRE_ASSIGN_OR_RETURN(const SlicedShape::Axis axis,
                          ResolveCut(matched.cuts[d], d, shape.dim(d)));
    sliced.axes.push_back(axis);
  }
  Dims dims;
  for (const int axis : matched.result_axes) {
    dims.push_back(axis == kNewAxis ? 1 : sliced.axes[axis].size);
  }
  sliced.result = PartialShape(std::move(dims));
  return sliced;
}

absl::StatusOr<SlicedShape> ResolveSliceInputs(const KernelContext& ctx, int first,
                                               const Shape& shape, const SliceMasks& masks) {
  const Shape& begin_shape = ctx.input(first).shape();
  const Shape& end_shape = ctx.input(first + 1).shape();
  const Shape& strides_shape = ctx.input(first + 2).shape();
  if (begin_shape.rank() != 1 || begin_shape != end_shape || begin_shape != strides_shape ||
      begin_shape.dim(0) > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected begin, end, and strides to be 1D equal size tensors of at most ",
                     kMaxLength, " elements, but got shapes ", begin_shape.ToString(), ", ",
                     end_shape.ToString(), ", and ", strides_shape.ToString(), " instead."));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims begin, IntegerList(ctx.input(first), "begin"));
  GYRE_ASSIGN_OR_RETURN(const Dims end, IntegerList(ctx.input(first + 1), "end"));
  GYRE_ASSIGN_OR_RETURN(const Dims strides, IntegerList(ctx.input(first + 2), "strides"));
  return ResolveSlice(shape, static_cast<int>(begin.size()), absl::MakeConstSpan(begin),
                      absl::MakeConstSpan(end), absl::MakeConstSpan(strides), masks);
}

}  // namespace gyre
