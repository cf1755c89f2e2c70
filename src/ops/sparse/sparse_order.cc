// SparseReorder, SparseReshape: the same values in another order, and at the same places of another
// shape.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

absl::Status Reorder(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "input_"));
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> order, SortedOrder(ctx, in));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, in.n, in.rank()));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(ctx.input(1).dtype(), Shape::Vector(in.n)));
  int64_t* index = indices.mutable_values<int64_t>().data();
  GYRE_RETURN_IF_ERROR(VisitElement(values.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(ctx.input(1).raw_data());
    T* to = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    for (int64_t i = 0; i < in.n; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      index = std::copy_n(in.row(order[i]), in.rank(), index);
      mover.Set(to[i], from[order[i]]);
    }
    return mover.status();
  }));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  return absl::OkStatus();
}

absl::Status ReorderShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(2));
  c.set_output(1, c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

// The places that values come from, as values: what was moved goes back.
void ReorderGradient(GradientContext& g) {
  if (!g.has_grad(1)) return;
  ExprBuilder& b = g.builder();
  const Expr count = g.op("Size", {g.input(0 + 1)});
  const Expr places = g.op("Range", {b.Int(0), count, b.Int(1)});
  const std::vector<Expr> ordered = b.Ops("SparseReorder", {g.input(0), places, g.input(2)}, {}, 2);
  g.Add(1, g.op("GatherV2", {g.grad(1), g.op("InvertPermutation", {ordered[1]}), b.Int(0)}));
}

// The new shape, of which one dimension may be left to be found out.
absl::StatusOr<Shape> NewShape(const Shape& old, absl::Span<const int64_t> wanted) {
  Dims dims(wanted.begin(), wanted.end());
  int64_t known = 1;
  int open = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && open < 0) {
      open = static_cast<int>(d);
      continue;
    }
    const std::optional<int64_t> product = CheckedMul(known, dims[d]);
    if (dims[d] < 0 || !product) {
      return absl::InvalidArgumentError(absl::StrCat("new_shape[", d, "] = ", dims[d],
                                                     ": a size, and -1 once, is what it may have"));
    }
    known = *product;
  }
  if (open >= 0) {
    if (known == 0 || old.num_elements() % known != 0) {
      return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", old.ToString(),
                                                     " cannot be reshaped to a multiple of ", known,
                                                     " elements"));
    }
    dims[open] = old.num_elements() / known;
  }
  GYRE_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  if (shape.num_elements() != old.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", old.ToString(),
                                                   " cannot be reshaped to ", shape.ToString()));
  }
  return shape;
}

absl::Status ReshapeSparse(KernelContext& ctx) {
  const Tensor &indices = ctx.input(0), &old_shape = ctx.input(1), &new_shape = ctx.input(2);
  if (indices.rank() != 2 || old_shape.rank() != 1 || new_shape.rank() != 1 ||
      indices.dim(1) != old_shape.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input_indices must be a matrix with as many columns as input_shape, a vector, "
        "has elements, and new_shape a vector, but their shapes are ",
        indices.shape().ToString(), ", ", old_shape.shape().ToString(), " and ",
        new_shape.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape old, Shape::Make(old_shape.values<int64_t>()));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, NewShape(old, new_shape.values<int64_t>()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, NewIndices(ctx, indices.dim(0), shape.rank()));
  GYRE_ASSIGN_OR_RETURN(Tensor dims, ShapeVector(ctx, shape.dims()));
  const int64_t* from = indices.values<int64_t>().data();
  int64_t* to = out.mutable_values<int64_t>().data();
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    int64_t place = 0;
    for (int d = 0; d < old.rank(); ++d) {
      const int64_t at = from[i * old.rank() + d];
      if (at < 0 || at >= old.dim(d)) {
        return absl::InvalidArgumentError(absl::StrCat("input_indices[", i, ",", d, "] = ", at,
                                                       " is not in [0, ", old.dim(d), ")"));
      }
      place = place * old.dim(d) + at;
    }
    for (int d = shape.rank() - 1; d >= 0; --d) {
      to[i * shape.rank() + d] = place % shape.dim(d);
      place /= shape.dim(d);
    }
  }
  ctx.set_output(0, std::move(out));
  ctx.set_output(1, std::move(dims));
  return absl::OkStatus();
}

absl::Status ReshapeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  const int64_t n = c.input(0).has_rank() ? c.input(0).dim(0) : -1;
  const int64_t rank = c.input(2).has_rank() ? c.input(2).dim(0) : -1;
  c.set_output(0, PartialShape(Dims{n, rank}));
  c.set_output(1, PartialShape(Dims{rank}));
  return absl::OkStatus();
}

}  // namespace

void RegisterSparseOrder(OpRegistry& ops) {
  ops.Add({.schema = "SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> "
                     "output_indices: int64, output_values: T {T: type}",
           .doc = "A sparse tensor with its values in row-major order of their indices.",
           .shape = ReorderShape,
           .gradient = {ReorderGradient},
           .kernel = Compute<Reorder>()});
  ops.Add({.schema = "SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> "
                     "output_indices: int64, output_shape: int64",
           .doc = "Where the values of a sparse tensor stand when it has another shape.",
           .shape = ReshapeShape,
           .gradient = NotDifferentiable("indices and shapes have no derivative"),
           .kernel = Compute<ReshapeSparse>()});
}

}  // namespace gyre
