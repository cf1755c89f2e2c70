// Tile, BroadcastTo: repeating a tensor along its dimensions.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/simplify_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status ComputeTile(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  if (ctx.input(1).rank() != 1 || ctx.input(1).dim(0) != rank) {
    return absl::InvalidArgumentError(absl::StrCat("Expected multiples to be a vector of length ",
                                                   rank, " but got shape ",
                                                   ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims multiples, IntegerList(ctx.input(1), "multiples"));
  Dims dims(rank);
  bool all_one = true;
  for (int d = 0; d < rank; ++d) {
    if (multiples[d] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected multiples[", d, "] >= 0, but got ", multiples[d]));
    }
    const auto dim = CheckedMul(input.dim(d), multiples[d]);
    if (!dim) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " of size ", input.dim(d),
                                                     " times ", multiples[d],
                                                     " does not fit 64 bits"));
    }
    dims[d] = *dim;
    all_one &= multiples[d] == 1;
  }
  if (all_one) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  if (shape.num_elements() > 0) {
    // Each dimension becomes two: which copy, and where in it.
    const Dims from = RowMajorStrides(input.shape());
    const Dims to = RowMajorStrides(shape);
    StridedAxes axes;
    for (int d = 0; d < rank; ++d) {
      axes.push_back({multiples[d], 0, to[d] * input.dim(d)});
      axes.push_back({input.dim(d), from[d], to[d]});
    }
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, 0, out, 0, std::move(axes)));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status TileRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const PartialShape& in = ctx.input(0);
  if (!ctx.input(1).has_rank()) {
    if (in.has_rank()) ctx.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const PartialShape multiples, ctx.InputAsShape(1));
  if (!multiples.has_rank() || !in.has_rank()) {
    const PartialShape& ranked = in.has_rank() ? in : multiples;
    if (ranked.has_rank()) ctx.set_output(0, PartialShape::UnknownOfRank(ranked.rank()));
    return absl::OkStatus();
  }
  if (multiples.rank() != in.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("Expected multiples to be a vector of length ",
                                                   in.rank(), " but got length ",
                                                   multiples.rank()));
  }
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  for (int d = 0; d < in.rank(); ++d) {
    if (in.dim(d) < 0 || multiples.dim(d) < 0) continue;
    const auto dim = CheckedMul(in.dim(d), multiples.dim(d));
    if (!dim) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " does not fit 64 bits"));
    }
    out.set_dim(d, *dim);
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeBroadcastTo(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Dims dims, IntegerList(ctx.input(1), "shape"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const int added = shape.rank() - input.rank();
  if (added < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Rank of input (", input.rank(),
                     ") must be no greater than rank of output shape (", shape.rank(), ")."));
  }
  const Dims from = RowMajorStrides(input.shape());
  const Dims to = RowMajorStrides(shape);
  StridedAxes axes;
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t dim = d < added ? 1 : input.dim(d - added);
    if (dim != 1 && dim != shape.dim(d)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Incompatible shapes: ", input.shape().ToString(), " vs. ", shape.ToString()));
    }
    axes.push_back({shape.dim(d), dim == 1 ? 0 : from[d - added], to[d]});
  }
  if (shape.num_elements() == input.num_elements()) {
    ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, 0, out, 0, std::move(axes)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status BroadcastToRule(ShapeContext& ctx) {
  if (!ctx.input(1).has_rank() || ctx.input(1).rank() == 0) return absl::OkStatus();
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape target, ctx.InputAsShape(1));
  const PartialShape& in = ctx.input(0);
  if (target.has_rank() && in.has_rank()) {
    const int added = target.rank() - in.rank();
    for (int d = 0; d < in.rank(); ++d) {
      const int64_t dim = in.dim(d);
      const int64_t wanted = added < 0 ? dim : target.dim(d + added);
      if (added < 0 || (dim >= 0 && dim != 1 && wanted >= 0 && dim != wanted)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Incompatible shapes: ", in.ToString(), " vs. ", target.ToString()));
      }
    }
  }
  ctx.set_output(0, target);
  return absl::OkStatus();
}

// The gradient seen as [times, size, times, size, …], summed over the times.
void TileGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr times = Cast(g.input(1), DType::kInt32);
  const Expr pairs = g.op("Pack", {times, g.input_dims(0)}, {{"axis", int64_t{1}}});
  const Expr axes = g.op("Range", {b.Int(0), g.op("Size", {pairs}), b.Int(2)});
  g.Add(0, Sum(Reshape(g.grad(), Reshape(pairs, b.Ints({-1}))), axes));
}

void BroadcastToGradient(GradientContext& g) { g.AddBroadcast(0, g.grad()); }

absl::Status BroadcastToBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.stacked_for_output(0, c.input(1)), c.with_rows(c.input(1))});
}

absl::Status TileBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr one = Cast(c.builder().Ints({1}), c.input_dtype(1));
  return c.Emit({c.input(0), batch::Joined({one, c.input(1)})});
}

}  // namespace

void RegisterTile(OpRegistry& ops) {
  ops.Add({
      .schema = "Tile(input: T, multiples: Tmultiples) -> output: T {T: type; "
                "Tmultiples: {int32, int64} = int32}",
      .doc = "Repeats a tensor along each of its dimensions.",
      .traits = {.moves_elements = true},
      .shape = TileRule,
      .gradient = {TileGradient},
      .batch = {TileBatch},
      .kernel = Compute<ComputeTile>(),
  });
  ops.Add({
      .schema = "BroadcastTo(input: T, shape: Tidx) -> output: T {T: type; "
                "Tidx: {int32, int64} = int32}",
      .doc = "A tensor stretched to a shape that it broadcasts to.",
      .traits = {.moves_elements = true},
      .shape = BroadcastToRule,
      .gradient = {BroadcastToGradient},
      .batch = {BroadcastToBatch},
      .simplify = simplify::IfShapeStays,
      .kernel = Compute<ComputeBroadcastTo>(),
  });
}

}  // namespace gyre
