// StridedSlice, StridedSliceGrad: slices as Python writes them, and their adjoint.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/strided_slice.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Whether the slice takes whole rows of dimension 0, next to each other.
bool TakesRows(const SlicedShape& sliced, const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d) {
    const SlicedShape::Axis& axis = sliced.axes[d];
    if (axis.stride != 1 && axis.size > 1) return false;
    if (d > 0 && axis.size != shape.dim(d)) return false;
  }
  return shape.rank() > 0;
}

// Pairs each dimension of a tensor with the dimension of its slice, which is laid out row by row.
StridedAxes AlignSlice(const SlicedShape& sliced, absl::Span<const int64_t> strides,
                       bool slice_is_source) {
  StridedAxes axes(sliced.axes.size());
  int64_t packed = 1;
  for (int d = static_cast<int>(axes.size()) - 1; d >= 0; --d) {
    const SlicedShape::Axis& axis = sliced.axes[d];
    // The stride of a single element may be any number; it is never taken.
    const int64_t step = axis.size > 1 ? axis.stride * strides[d] : 0;
    axes[d] = slice_is_source ? StridedAxis{axis.size, packed, step}
                              : StridedAxis{axis.size, step, packed};
    packed *= axis.size;
  }
  return axes;
}

absl::Status ComputeStridedSlice(KernelContext& ctx, const SliceMasks& masks) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const SlicedShape sliced, ResolveSliceInputs(ctx, 1, input.shape(), masks));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sliced.result.dims()));
  if (TakesRows(sliced, input.shape())) {
    GYRE_ASSIGN_OR_RETURN(Tensor rows,
                          TakeRows(ctx, input, sliced.axes[0].begin, sliced.axes[0].size, shape));
    ctx.set_output(0, std::move(rows));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  if (shape.num_elements() > 0) {
    const Dims strides = RowMajorStrides(input.shape());
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, sliced.Offset(strides), out, 0,
                                     AlignSlice(sliced, strides, /*slice_is_source=*/false)));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeStridedSliceGrad(KernelContext& ctx, const SliceMasks& masks) {
  if (ctx.input(0).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be 1-D, got shape.shape = ", ctx.input(0).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims dims, IntegerList(ctx.input(0), "shape"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(const SlicedShape sliced, ResolveSliceInputs(ctx, 1, shape, masks));
  const Tensor& dy = ctx.input(4);
  if (!sliced.result.Allows(dy.shape())) {
    return absl::InvalidArgumentError(absl::StrCat("shape of dy was ", dy.shape().ToString(),
                                                   " instead of ", sliced.result.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(dy.dtype(), shape));
  if (dy.num_elements() > 0) {
    const Dims strides = RowMajorStrides(shape);
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, dy, 0, out, sliced.Offset(strides),
                                     AlignSlice(sliced, strides, /*slice_is_source=*/true)));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The length that begin, end and strides (inputs 1 to 3) share; -1 when none of them says.
absl::StatusOr<int> SpecLength(const ShapeContext& ctx) {
  PartialShape length = PartialShape::UnknownOfRank(1);
  for (int i = 1; i <= 3; ++i) {
    absl::StatusOr<PartialShape> both = length.Intersect(ctx.input(i));
    if (!both.ok()) {
      return Annotate(both.status(),
                      "Expected begin, end, and strides to be 1D equal size tensors");
    }
    length = *std::move(both);
  }
  return static_cast<int>(std::min<int64_t>(length.dim(0), Shape::kMaxRank));
}

// Elements of a slice of a list of dimensions.
void SliceDims(ShapeContext& ctx, const SlicedShape& sliced) {
  const auto dims = KnownDims(ctx, 0);
  if (!dims || sliced.axes.size() != 1 || sliced.axes[0].size < 0) return;
  const SlicedShape::Axis& axis = sliced.axes[0];
  if (!axis.is_range && sliced.result.rank() == 0) SetIntScalar(ctx, 0, dims->dim(axis.begin));
  if (!axis.is_range || sliced.result.rank() != 1) return;
  Dims taken;
  for (int64_t i = 0; i < axis.size; ++i) taken.push_back(dims->dim(axis.begin + i * axis.stride));
  SetDims(ctx, 0, PartialShape(std::move(taken)));
}

absl::Status StridedSliceRule(ShapeContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int length, SpecLength(ctx));
  if (!ctx.input(0).has_rank() || length < 0) return absl::OkStatus();
  const auto begin = ctx.input_ints(1);
  const auto end = ctx.input_ints(2);
  const auto strides = ctx.input_ints(3);
  const auto span = [](const std::optional<std::vector<int64_t>>& values) {
    return values ? std::optional(absl::MakeConstSpan(*values)) : std::nullopt;
  };
  GYRE_ASSIGN_OR_RETURN(const SlicedShape sliced,
                        ResolveSlice(ctx.input(0), length, span(begin), span(end), span(strides),
                                     SliceMasks(ctx.node())));
  ctx.set_output(0, sliced.result);
  SliceDims(ctx, sliced);
  return absl::OkStatus();
}

absl::Status StridedSliceGradRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(SpecLength(ctx).status());
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(0));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

AttrMap MaskAttrs(const GradientContext& g) {
  AttrMap masks;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    masks.Set(name, g.attr<int64_t>(name, 0));
  }
  return masks;
}

// Whether axis 0 is the only one that is cut.
bool OtherAxesAreWhole(const SliceMasks& masks, int64_t length,
                       const std::optional<Dims>& strides) {
  if (length <= 0 || length > 62) return false;  // a bit for each
  if (((masks.ellipsis | masks.new_axis) & 1) != 0) return false;
  for (int64_t k = 1; k < length; ++k) {
    const int64_t bit = int64_t{1} << k;
    if ((masks.ellipsis & bit) != 0) continue;
    const bool is_whole = (masks.begin & masks.end & ~masks.new_axis & ~masks.shrink_axis & bit) &&
                          strides && (*strides)[k] == 1;
    if (!is_whole) return false;
  }
  return true;
}

// x[i]: one row. Adding it to a gradient takes no time for the others.
void AddRow(GradientContext& g, Expr index) {
  ExprBuilder& b = g.builder();
  const auto begin = KnownIntegers(g, 1);
  if (!begin || (*begin)[0] < 0) {
    const Expr size = RuleDims::OfInput(g, 0).Part(0, 1);
    index = g.op("FloorMod", {index, Cast(size, index.dtype())});
  }
  g.AddSlices(0, g.op("ExpandDims", {g.grad(), b.Int(0)}), index);
}

// x[i:j]: rows from `first`, which counts from the end when negative, and may lie before it.
void AddRange(GradientContext& g, Expr first) {
  const Expr size = Cast(RuleDims::OfInput(g, 0).Part(0, 1), first.dtype());
  const Expr zero = g.builder().Scalar(first.dtype(), 0);
  const Expr is_from_end = g.op("Less", {first, zero});
  AddRowsFrom(g, g.op("Maximum", {Where(is_from_end, first + size, first), zero}));
}

void StridedSliceGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const SliceMasks masks(g.node());
  const PartialShape& spec = g.input_shape(1);
  const int64_t length = spec.has_rank() && spec.rank() == 1 ? spec.dim(0) : -1;
  auto strides = KnownIntegers(g, 3);
  if (strides && static_cast<int64_t>(strides->size()) != length) strides.reset();
  const Expr begin = WideIndices(g.input(1));
  if (OtherAxesAreWhole(masks, length, strides)) {
    const Expr first = length == 1 ? begin : g.op("Slice", {begin, b.Ints({0}), b.Ints({1})});
    if ((masks.shrink_axis & 1) != 0) return AddRow(g, first);
    const bool begins_somewhere = (masks.begin & 1) == 0 && g.input_constant(1) == nullptr;
    if (begins_somewhere && strides && (*strides)[0] == 1) return AddRange(g, first);
  }
  g.Add(0, g.op("StridedSliceGrad",
                {Cast(g.input_dims(0), begin.dtype()), begin, WideIndices(g.input(2)),
                 WideIndices(g.input(3)), g.grad()},
                MaskAttrs(g)));
}

void StridedSliceGradGradient(GradientContext& g) {
  g.Add(4, g.op("StridedSlice", {g.grad(), g.input(1), g.input(2), g.input(3)}, MaskAttrs(g)));
}

// The masks of a slice that begins with all rows.
AttrMap MasksWithRows(const BatchContext& c) {
  AttrMap masks;
  for (const absl::string_view mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    const bool is_open = mask == "begin_mask" || mask == "end_mask";
    masks.Set(mask, 2 * c.attr<int64_t>(mask, 0) + (is_open ? 1 : 0));
  }
  return masks;
}

// x[i] for an i that differs from row to row, and nothing else: a gather. False if it is not that.
bool IsElementPerRow(const BatchContext& c) {
  for (const absl::string_view mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"}) {
    if (c.attr<int64_t>(mask, 0) != 0) return false;
  }
  const PartialShape& begin = c.row_shape(1);
  return c.attr<int64_t>("shrink_axis_mask", 0) == 1 && begin.has_rank() && begin.rank() == 1 &&
         begin.dim(0) == 1 && c.rows_of(3) == Rows::kSame;
}

absl::Status ElementPerRow(BatchContext& c) {
  const DType dtype = c.input_dtype(1);
  const Expr i = c.op("Squeeze", {c.stacked(1)}, {{"squeeze_dims", std::vector<int64_t>{1}}});
  // An index counted from the end.
  const PartialShape& shape = c.row_shape(0);
  const Expr size =
      shape.has_rank() && shape.dim(0) >= 0
          ? c.builder().Scalar(dtype, static_cast<double>(shape.dim(0)))
          : Cast(c.op("GatherV2", {c.row_dims(0), c.builder().Int(0), c.builder().Int(0)}), dtype);
  const Expr index = Where(c.op("Less", {i, c.builder().Zero(dtype)}), i + size, i);
  const bool is_stacked = c.is_stacked(0);
  return c.EmitAs("GatherV2", {c.input(0), index, c.builder().Int(is_stacked ? 1 : 0)},
                  {{"batch_dims", int64_t{is_stacked ? 1 : 0}}});
}

absl::Status StridedSliceBatch(BatchContext& c) {
  if (c.rows_of(1) != Rows::kSame && IsElementPerRow(c)) return ElementPerRow(c);
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input_behind(0, 1), c.input_behind(0, 2), c.input_behind(1, 3)},
                MasksWithRows(c));
}

absl::Status StridedSliceGradBatch(BatchContext& c) {
  for (int i = 0; i < 4; ++i) GYRE_RETURN_IF_ERROR(c.NeedSame(i));
  return c.Emit({c.with_rows(c.input(0)), c.input_behind(0, 1), c.input_behind(0, 2),
                 c.input_behind(1, 3), c.input(4)},
                MasksWithRows(c));
}

}  // namespace

void RegisterStridedSlice(OpRegistry& ops) {
  ops.Add({
      .schema = "StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> output: T "
                "{T: type; Index: {int16, int32, int64}; begin_mask: int = 0; end_mask: int = 0; "
                "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0}",
      .doc = "A slice as Python writes it: ranges with steps, indices, new axes, an ellipsis.",
      .traits = {.moves_elements = true},
      .shape = StridedSliceRule,
      .gradient = {StridedSliceGradient},
      .batch = {StridedSliceBatch},
      .kernel = Compute<ComputeStridedSlice>(),
  });
  ops.Add({
      .schema = "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) "
                "-> output: T {T: type; Index: {int32, int64}; begin_mask: int = 0; "
                "end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; "
                "shrink_axis_mask: int = 0}",
      .doc = "Zeros of the given shape with `dy` where StridedSlice would have read.",
      .traits = {.moves_elements = true},
      .shape = StridedSliceGradRule,
      .gradient = {StridedSliceGradGradient},
      .batch = {StridedSliceGradBatch},
      .kernel = Compute<ComputeStridedSliceGrad>(),
  });
}

}  // namespace gyre
