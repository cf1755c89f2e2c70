// Shapes, and what moves axes and values about.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "passes/vectorize/dims.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// ---- Shapes: of a row, and so the same for all

absl::Status Shape(RowContext& c) {
  const DType dtype = c.attr<DType>("out_type", DType::kInt32);
  for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, Cast(c.row_dims(i), dtype), Rows::kSame);
  return absl::OkStatus();
}

absl::Status Rank(RowContext& c) {
  const bool is_known = c.row_shape(0).has_rank();
  c.Set(0, is_known ? c.builder().Int(c.row_shape(0).rank()) : c.op("Size", {c.row_dims(0)}),
        Rows::kSame);
  return absl::OkStatus();
}

absl::Status Size(RowContext& c) {
  const DType dtype = c.attr<DType>("out_type", DType::kInt32);
  const Expr dims = Cast(c.row_dims(0), dtype);
  c.Set(0, c.op("Prod", {dims, c.builder().Ints({0})}), Rows::kSame);
  return absl::OkStatus();
}

// A shape attribute that says what a row is.
absl::Status WithShapeAttr(RowContext& c) {
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.stacked(i));
  const auto shape = c.attr<PartialShape>("shape", PartialShape::Unknown());
  return c.Emit(inputs, {{"shape", WithRowAxis(shape, -1)}});
}

// ---- Other shapes

// What a shape for Reshape says for a row, without a -1, which many rows, or none, would make
// ambiguous.
Expr ReshapeDims(RowContext& c) {
  if (const std::optional<gyre::Shape> known = c.output_row_shape(0).ToShape()) {
    const std::vector<int32_t> dims(known->dims().begin(), known->dims().end());
    return c.builder().Ints(dims);
  }
  const Expr dims = Cast(c.input(1), DType::kInt32);
  const Expr axis = c.builder().Ints({0});
  const Expr size = c.op("Prod", {c.row_dims(0), axis});
  const Expr others = c.op("Maximum", {-c.op("Prod", {dims, axis}), c.builder().Int(1)});
  return Where(c.op("Less", {dims, c.builder().Int(0)}), c.op("FloorDiv", {size, others}), dims);
}

absl::Status Reshape(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.with_rows(ReshapeDims(c))}, {{"Tshape", DType::kInt32}});
}

absl::Status ExpandDims(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

absl::Status Squeeze(RowContext& c) {
  std::vector<int64_t> axes = c.attr<std::vector<int64_t>>("squeeze_dims", {});
  if (axes.empty()) {
    const PartialShape& shape = c.row_shape(0);
    if (!shape.IsFullyKnown()) return NotBatched("which axes have size 1 is not known");
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.dim(i) == 1) axes.push_back(i);
    }
    if (axes.empty()) return c.EmitAs("Identity", {c.input(0)});
  }
  for (int64_t& axis : axes) axis += axis < 0 ? 0 : 1;
  return c.Emit({c.input(0)}, {{"squeeze_dims", axes}});
}

absl::Status Transpose(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr perm = c.shifted_axes(1);
  return c.Emit({c.input(0), Joined({Cast(c.builder().Ints({0}), perm.dtype()), perm})});
}

// Input i with as many dimensions in a row as `dims`, the shape of the output, has elements.
Expr StackedForOutput(RowContext& c, int i, Expr dims) {
  const PartialShape& output = c.output_row_shape(0);
  if (output.has_rank() && c.row_shape(i).has_rank()) return c.stacked(i, output.rank());
  return c.stacked(i, c.op("Size", {dims}));
}

absl::Status BroadcastTo(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({StackedForOutput(c, 0, c.input(1)), c.with_rows(c.input(1))});
}

absl::Status Fill(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  return c.EmitAs("BroadcastTo", {StackedForOutput(c, 1, c.input(0)), c.with_rows(c.input(0))});
}

absl::Status Tile(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr one = Cast(c.builder().Ints({1}), c.input_dtype(1));
  return c.Emit({c.input(0), Joined({one, c.input(1)})});
}

// Paddings, and a value to pad with.
absl::Status Pad(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr none = c.op("Reshape", {c.builder().Ints({0, 0}), c.builder().Ints({1, 2})});
  std::vector<Expr> inputs = {c.input(0), Joined({Cast(none, c.input_dtype(1)), c.input(1)})};
  if (c.num_inputs() > 2) inputs.push_back(c.input(2));
  return c.Emit(inputs);
}

// ---- Joining and splitting

std::vector<Expr> AllStacked(RowContext& c, int begin, int end) {
  std::vector<Expr> inputs;
  for (int i = begin; i < end; ++i) inputs.push_back(c.stacked(i));
  return inputs;
}

absl::Status ConcatV2(RowContext& c) {
  const int axis = c.num_inputs() - 1;
  GYRE_RETURN_IF_ERROR(c.NeedSame(axis));
  std::vector<Expr> inputs = AllStacked(c, 0, axis);
  inputs.push_back(c.shifted_axes(axis));
  return c.Emit(inputs);
}

absl::Status Concat(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  std::vector<Expr> inputs = AllStacked(c, 1, c.num_inputs());
  inputs.insert(inputs.begin(), c.shifted_axes(0));
  return c.Emit(inputs);
}

// The attribute `axis`, counted in tensors with the axis of rows.
int64_t ShiftedAxis(const RowContext& c, int64_t otherwise) {
  const int64_t axis = c.attr<int64_t>("axis", otherwise);
  return axis < 0 ? axis : axis + 1;
}

// Pack, Unpack.
absl::Status AlongAxis(RowContext& c) {
  return c.Emit(AllStacked(c, 0, c.num_inputs()), {{"axis", ShiftedAxis(c, 0)}});
}

absl::Status Split(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  return c.Emit({c.shifted_axes(0), c.input(1)});
}

absl::Status SplitV(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input(1), c.shifted_axes(2)});
}

absl::Status OneHot(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input(1), c.input(2), c.input(3)}, {{"axis", ShiftedAxis(c, -1)}});
}

// Hands its inputs on as they are.
absl::Status Identity(RowContext& c) {
  std::vector<Expr> inputs;
  std::vector<Rows> rows;
  for (int i = 0; i < c.num_inputs(); ++i) {
    inputs.push_back(c.input(i));
    rows.push_back(c.rows_of(i));
  }
  return c.Emit(inputs, {}, rows);
}

}  // namespace

absl::Span<const NamedRule> ArrayRules() {
  static constexpr NamedRule kRules[] = {
      {"Shape", {Shape}},
      {"ShapeN", {Shape}},
      {"Rank", {Rank}},
      {"Size", {Size}},
      {"EnsureShape", {WithShapeAttr}},
      {"PlaceholderWithDefault", {WithShapeAttr}},
      {"AccumulateNV2", {WithShapeAttr}},
      {"Reshape", {Reshape}},
      {"ExpandDims", {ExpandDims}},
      {"Squeeze", {Squeeze}},
      {"Transpose", {Transpose}},
      {"BroadcastTo", {BroadcastTo}},
      {"Fill", {Fill}},
      {"Tile", {Tile}},
      {"Pad", {Pad}},
      {"PadV2", {Pad}},
      {"MirrorPad", {Pad}},
      {"ConcatV2", {ConcatV2}},
      {"Concat", {Concat}},
      {"Pack", {AlongAxis}},
      {"Unpack", {AlongAxis}},
      {"Split", {Split}},
      {"SplitV", {SplitV}},
      {"OneHot", {OneHot}},
      {"Identity", {Identity, true}},
      {"IdentityN", {Identity, true}},
      {"StopGradient", {Identity, true}},
      {"PreventGradient", {Identity, true}},
  };
  return kRules;
}

}  // namespace gyre::vectorize
