// Split, SplitV: a tensor cut into pieces along an axis.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::StatusOr<int> SplitAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "-input rank(-", rank, ") <= split_dim < input rank (", rank, "), but got ", axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int64_t> EvenSize(int64_t dim, int64_t pieces, int axis) {
  if (dim % pieces != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of ways to split should evenly divide the split dimension, but got split_dim ",
        axis, " (size = ", dim, ") and num_split ", pieces));
  }
  return dim / pieces;
}

// Cuts `value` (taken from the context, so that pieces can share it) into outputs of these sizes.
absl::Status CutInto(KernelContext& ctx, const Tensor& value, int axis, const Dims& sizes) {
  const Shape& shape = value.shape();
  int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
  const int64_t in_row = shape.dim(axis) * inner;
  const int64_t rows = in_row == 0 ? 0 : shape.num_elements() / in_row;
  Dims dims(shape.dims().begin(), shape.dims().end());
  int64_t at = 0;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    dims[axis] = sizes[i];
    const Shape piece_shape = Shape::Trusted(dims);
    if (axis == 0) {
      GYRE_ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, value, at, sizes[i], piece_shape));
      ctx.set_output(i, std::move(piece));
    } else {
      const int64_t row = sizes[i] * inner;
      GYRE_ASSIGN_OR_RETURN(Tensor piece, ctx.Allocate(value.dtype(), piece_shape));
      GYRE_RETURN_IF_ERROR(
          CopyStrided(ctx, value, at * inner, piece, 0, {{rows, in_row, row}, {row, 1, 1}}));
      ctx.set_output(i, std::move(piece));
    }
    at += sizes[i];
  }
  return absl::OkStatus();
}

absl::Status ComputeSplit(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t wanted, IntegerScalar(ctx.input(0), "split_dim"));
  GYRE_ASSIGN_OR_RETURN(const int axis, SplitAxis(wanted, ctx.input(1).rank()));
  const int pieces = ctx.num_outputs();
  GYRE_ASSIGN_OR_RETURN(const int64_t size, EvenSize(ctx.input(1).dim(axis), pieces, axis));
  return CutInto(ctx, ctx.TakeInput(1), axis, Dims(pieces, size));
}

absl::Status SplitRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(0));
  const PartialShape& in = ctx.input(1);
  if (!in.has_rank()) return absl::OkStatus();
  PartialShape piece = PartialShape::UnknownOfRank(in.rank());
  if (const auto wanted = ctx.input_int(0)) {
    GYRE_ASSIGN_OR_RETURN(const int axis, SplitAxis(*wanted, in.rank()));
    piece = in;
    if (in.dim(axis) >= 0) {
      GYRE_ASSIGN_OR_RETURN(const int64_t size, EvenSize(in.dim(axis), ctx.num_outputs(), axis));
      piece.set_dim(axis, size);
    }
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, piece);
  return absl::OkStatus();
}

// `sizes` with the one -1 among them, if any, resolved so that they sum up to `dim`.
absl::StatusOr<Dims> ResolvePieces(Dims sizes, int64_t dim, int64_t pieces) {
  if (static_cast<int64_t>(sizes.size()) != pieces) {
    return absl::InvalidArgumentError(absl::StrCat("size of the split_tensor must be 1-D and have ",
                                                   pieces, " elements, got ", sizes.size()));
  }
  int64_t sum = 0;
  int64_t* rest = nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (rest != nullptr) {
        return absl::InvalidArgumentError("There can only be one -1 in the input.");
      }
      rest = &sizes[i];
      continue;
    }
    const auto next = CheckedAdd(sum, sizes[i]);
    if (sizes[i] < 0 || !next) {
      return absl::InvalidArgumentError(
          absl::StrCat("Split size at index ", i, " must be >= 0. Got: ", sizes[i]));
    }
    sum = *next;
  }
  if (rest == nullptr ? sum != dim : sum > dim) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Determined shape must either match input shape along split_dim (size ", dim,
        ") exactly if fully specified, or be less than the size of the input along split_dim if "
        "not fully specified. Got: ",
        sum));
  }
  if (rest != nullptr) *rest = dim - sum;
  return sizes;
}

absl::Status ComputeSplitV(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t wanted, IntegerScalar(ctx.input(2), "split_dim"));
  GYRE_ASSIGN_OR_RETURN(const int axis, SplitAxis(wanted, ctx.input(0).rank()));
  if (ctx.input(1).rank() != 1 || ctx.input(1).dim(0) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("size of the split_tensor must be 1-D and have ",
                                                   ctx.num_outputs(), " elements, got shape ",
                                                   ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Dims asked, IntegerElements(ctx.input(1), "size_splits"));
  GYRE_ASSIGN_OR_RETURN(const Dims sizes,
                        ResolvePieces(std::move(asked), ctx.input(0).dim(axis), ctx.num_outputs()));
  return CutInto(ctx, ctx.TakeInput(0), axis, sizes);
}

absl::Status SplitVRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(2));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return absl::OkStatus();
  const auto wanted = ctx.input_int(2);
  if (!wanted) {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ctx.set_output(i, PartialShape::UnknownOfRank(in.rank()));
    }
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const int axis, SplitAxis(*wanted, in.rank()));
  Dims sizes(ctx.num_outputs(), -1);
  if (const auto asked = ctx.input_ints(1)) {
    Dims known(asked->begin(), asked->end());
    if (in.dim(axis) >= 0) {
      GYRE_ASSIGN_OR_RETURN(sizes,
                            ResolvePieces(std::move(known), in.dim(axis), ctx.num_outputs()));
    } else if (known.size() == sizes.size()) {
      for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max<int64_t>(known[i], -1);
    }
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    PartialShape piece = in;
    piece.set_dim(axis, sizes[i]);
    ctx.set_output(i, std::move(piece));
  }
  return absl::OkStatus();
}

void JoinPieces(GradientContext& g, int value, int axis) {
  std::vector<Expr> pieces;
  for (int i = 0; i < g.num_outputs(); ++i) pieces.push_back(g.grad(i));
  if (pieces.size() == 1) return g.Add(value, pieces[0]);
  pieces.push_back(g.input(axis));
  g.Add(value, g.op("ConcatV2", std::move(pieces)));
}

void SplitGradient(GradientContext& g) { JoinPieces(g, 1, 0); }
void SplitVGradient(GradientContext& g) { JoinPieces(g, 0, 2); }

absl::Status SplitBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  return c.Emit({c.shifted_axes(0), c.input(1)});
}

absl::Status SplitVBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input(1), c.shifted_axes(2)});
}

}  // namespace

void RegisterSplit(OpRegistry& ops) {
  ops.Add({
      .schema = "Split(split_dim: int32, value: T) -> output: num_split * T {num_split: int >= 1; "
                "T: type}",
      .doc = "A tensor cut into equal pieces along an axis.",
      .traits = {.moves_elements = true},
      .shape = SplitRule,
      .gradient = {SplitGradient},
      .batch = {SplitBatch},
      .kernel = Compute<ComputeSplit>(),
  });
  ops.Add({
      .schema = "SplitV(value: T, size_splits: Tlen, split_dim: int32) -> output: num_split * T "
                "{num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = int64}",
      .doc = "A tensor cut into pieces of given sizes along an axis.",
      .traits = {.moves_elements = true},
      .shape = SplitVRule,
      .gradient = {SplitVGradient},
      .batch = {SplitVBatch},
      .kernel = Compute<ComputeSplitV>(),
  });
}

}  // namespace gyre
