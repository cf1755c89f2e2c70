// Slices, gathers, scatters, and what goes by segment.
#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "passes/vectorize/dims.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// ---- Slices

Expr Before(RowContext& c, int32_t first, int i) {
  const Expr rest = c.input(i);
  return rest.ok() ? Joined({Cast(c.builder().Ints({first}), rest.dtype()), rest}) : rest;
}

absl::Status Slice(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), Before(c, 0, 1), Before(c, -1, 2)});
}

// The masks of a slice that begins with all rows.
AttrMap MasksWithRows(const RowContext& c) {
  AttrMap masks;
  for (const absl::string_view mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    const bool is_open = mask == "begin_mask" || mask == "end_mask";
    masks.Set(mask, 2 * c.attr<int64_t>(mask, 0) + (is_open ? 1 : 0));
  }
  return masks;
}

// x[i] for an i that differs from row to row, and nothing else: a gather. False if it is not that.
bool IsElementPerRow(const RowContext& c) {
  for (const absl::string_view mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"}) {
    if (c.attr<int64_t>(mask, 0) != 0) return false;
  }
  const PartialShape& begin = c.row_shape(1);
  return c.attr<int64_t>("shrink_axis_mask", 0) == 1 && begin.has_rank() && begin.rank() == 1 &&
         begin.dim(0) == 1 && c.rows_of(3) == Rows::kSame;
}

absl::Status ElementPerRow(RowContext& c) {
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

absl::Status StridedSlice(RowContext& c) {
  if (c.rows_of(1) != Rows::kSame && IsElementPerRow(c)) return ElementPerRow(c);
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), Before(c, 0, 1), Before(c, 0, 2), Before(c, 1, 3)}, MasksWithRows(c));
}

absl::Status StridedSliceGrad(RowContext& c) {
  for (int i = 0; i < 4; ++i) GYRE_RETURN_IF_ERROR(c.NeedSame(i));
  return c.Emit(
      {c.with_rows(c.input(0)), Before(c, 0, 1), Before(c, 0, 2), Before(c, 1, 3), c.input(4)},
      MasksWithRows(c));
}

absl::Status ReverseV2(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

// ---- Gathers

int64_t IntegerOf(const Tensor& scalar) {
  return scalar.dtype() == DType::kInt64 ? scalar.scalar<int64_t>() : scalar.scalar<int32_t>();
}

// Indices that differ, params that do not: their axis comes out at the front by itself, or is
// brought there.
absl::Status GatherFromSame(RowContext& c, int64_t axis) {
  const Expr gathered =
      c.op("GatherV2", {c.input(0), c.input(1), c.builder().Int(static_cast<int32_t>(axis))});
  std::vector<int32_t> perm(c.output_row_shape(0).rank() + 1);
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
  return c.EmitAs("Transpose", {gathered, c.builder().Ints(perm)});
}

absl::Status Gather(RowContext& c) {
  const bool has_axis = c.num_inputs() > 2;
  if (has_axis) GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const int64_t batch_dims = c.attr<int64_t>("batch_dims", 0);
  if (batch_dims == 0 && !c.is_stacked(0)) {
    int64_t axis = 0;
    if (has_axis) {
      if (c.constant(2) == nullptr) return NotBatched("its axis is not known");
      axis = IntegerOf(*c.constant(2));
    }
    if (axis == 0) return c.EmitAs("GatherV2", {c.input(0), c.input(1), c.builder().Int(0)});
    GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
    if (c.output_row_shape(0).has_rank()) return GatherFromSame(c, axis < 0 ? axis + rank : axis);
  }
  const Expr axis = has_axis ? c.shifted_axes(2) : c.builder().Int(1);
  if (batch_dims == 0 && !c.is_stacked(1))
    return c.EmitAs("GatherV2", {c.input(0), c.input(1), axis});
  return c.EmitAs("GatherV2", {c.stacked(0), c.stacked(1), axis},
                  {{"batch_dims", batch_dims < 0 ? batch_dims : batch_dims + 1}});
}

// Of a variable, which is the same for all rows.
absl::Status ResourceGather(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  if (c.attr<int64_t>("batch_dims", 0) != 0) return NotBatched("it has batch_dims");
  return c.Emit({c.input(0), c.input(1)});
}

// Index vectors with the number of the row in front. Requirement: the rank of input i is known.
Expr IndicesWithRow(RowContext& c, int i) {
  const Expr indices = c.stacked(i);
  if (!indices.ok()) return indices;
  ExprBuilder& b = c.builder();
  const int rank = c.row_shape(i).rank();
  const Expr row = WithOnesBehindRows(CountTo(Cast(c.rows(), indices.dtype())), rank);
  const auto known = c.row_shape(i).ToShape();
  Expr dims;  // of one number for each index vector
  if (known) {
    std::vector<int32_t> row_dims(known->dims().begin(), known->dims().end());
    row_dims.back() = 1;
    dims = c.with_rows(b.Ints(row_dims));
  } else {
    const Expr vectors =
        c.op("StridedSlice", {ShapeOf(indices), b.Ints({0}), b.Ints({-1}), b.Ints({1})},
             {{"begin_mask", int64_t{1}}});
    dims = Joined({vectors, b.Ints({1})});
  }
  const Expr rows = c.op("BroadcastTo", {row, dims});
  return c.op("ConcatV2", {rows, indices, b.Int(-1)});
}

absl::Status GatherNd(RowContext& c) {
  if (!c.is_stacked(0)) return c.Emit({c.input(0), c.input(1)});
  GYRE_RETURN_IF_ERROR(c.NeedRank(1).status());
  return c.Emit({c.input(0), IndicesWithRow(c, 1)});
}

// ---- Scatters

absl::Status ScatterNd(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  GYRE_RETURN_IF_ERROR(c.NeedRank(0).status());
  const Expr shape = Cast(c.with_rows(c.input(2)), c.input_dtype(0));
  return c.Emit({IndicesWithRow(c, 0), c.stacked(1), shape});
}

absl::Status TensorScatter(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedRank(1).status());
  return c.Emit({c.stacked(0), IndicesWithRow(c, 1), c.stacked(2)});
}

// The same segments in all rows: rows are what the tensors are summed along with.
absl::Status Segment(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const auto rank = [](const PartialShape& row) { return row.has_rank() ? row.rank() + 1 : -1; };
  const Expr sums =
      c.op(c.node().op_name, {FirstAxesSwapped(c.input(0), rank(c.row_shape(0))), c.input(1)});
  c.Set(0, FirstAxesSwapped(sums, rank(c.output_row_shape(0))));
  return absl::OkStatus();
}

// Each row has segments of its own, one behind the other. Numbers below zero are left out, as
// before; those that are too large stay too large.
absl::Status UnsortedSegment(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  const Expr given = c.stacked(1);
  if (!given.ok()) return c.builder().status();
  const DType dtype = given.dtype();
  const Expr count = Cast(c.input(2), dtype);
  const Expr all = count * Cast(c.rows(), dtype);
  const Expr row = WithOnesBehindRows(CountTo(Cast(c.rows(), dtype)), rank);
  const Expr ids = Where(c.op("Less", {given, c.builder().Zero(dtype)}), given,
                         Where(c.op("Less", {given, count}), given + row * count, all));
  const Expr sums = c.op(c.node().op_name, {c.stacked(0), ids, Cast(all, c.input_dtype(2))});
  if (const auto known = c.output_row_shape(0).ToShape()) {
    const std::vector<int32_t> dims(known->dims().begin(), known->dims().end());
    return c.EmitAs("Reshape", {sums, c.with_rows(c.builder().Ints(dims))});
  }
  const Expr own = c.op("ExpandDims", {Cast(c.input(2), DType::kInt32), c.builder().Int(0)});
  return c.EmitAs("Reshape", {sums, c.with_rows(Joined({own, Behind(ShapeOf(sums))}))});
}

}  // namespace

absl::Span<const NamedRule> IndexRules() {
  static constexpr NamedRule kRules[] = {
      {"Slice", {Slice}},
      {"StridedSlice", {StridedSlice}},
      {"StridedSliceGrad", {StridedSliceGrad}},
      {"ReverseV2", {ReverseV2}},
      {"Gather", {Gather}},
      {"GatherV2", {Gather}},
      {"ResourceGather", {ResourceGather}},
      {"GatherNd", {GatherNd}},
      {"ScatterNd", {ScatterNd}},
      {"TensorScatterAdd", {TensorScatter}},
      {"TensorScatterMax", {TensorScatter}},
      {"TensorScatterMin", {TensorScatter}},
      {"TensorScatterSub", {TensorScatter}},
      {"TensorScatterUpdate", {TensorScatter}},
      {"SegmentSum", {Segment}},
      {"SegmentMean", {Segment}},
      {"SegmentProd", {Segment}},
      {"SegmentMax", {Segment}},
      {"SegmentMin", {Segment}},
      {"UnsortedSegmentSum", {UnsortedSegment}},
      {"UnsortedSegmentProd", {UnsortedSegment}},
      {"UnsortedSegmentMax", {UnsortedSegment}},
      {"UnsortedSegmentMin", {UnsortedSegment}},
  };
  return kRules;
}

}  // namespace gyre::vectorize
