// SparseSlice and its gradient: the part of a sparse tensor that lies in a box.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

absl::StatusOr<absl::Span<const int64_t>> BoxInput(const KernelContext& ctx, int i, int64_t rank,
                                                   absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 1 || t.dim(0) != rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must be a vector of ", rank, " elements, but its shape is ", t.shape().ToString()));
  }
  return t.values<int64_t>();
}

absl::Status SliceSparse(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "", false));
  GYRE_ASSIGN_OR_RETURN(const auto start, BoxInput(ctx, 3, in.rank(), "start"));
  GYRE_ASSIGN_OR_RETURN(const auto size, BoxInput(ctx, 4, in.rank(), "size"));
  Dims dims;
  for (int64_t d = 0; d < in.rank(); ++d) {
    if (start[d] < 0 || size[d] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("start and size must not be negative, but "
                       "have ",
                       start[d], " and ", size[d]));
    }
    dims.push_back(std::min(size[d], std::max<int64_t>(0, in.shape[d] - start[d])));
  }
  const auto is_in = [&](int64_t i) {
    for (int64_t d = 0; d < in.rank(); ++d) {
      const int64_t index = in.row(i)[d];
      if (index < start[d] || index - start[d] >= dims[d]) return false;
    }
    return true;
  };
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < in.n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (is_in(i)) kept.push_back(i);
  }
  const auto n = static_cast<int64_t>(kept.size());
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, in.rank()));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(ctx.input(1).dtype(), Shape::Vector(n)));
  GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, dims));
  int64_t* index = indices.mutable_values<int64_t>().data();
  GYRE_RETURN_IF_ERROR(VisitElement(values.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(ctx.input(1).raw_data());
    T* to = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    for (int64_t i = 0; i < n; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      for (int64_t d = 0; d < in.rank(); ++d) *index++ = in.row(kept[i])[d] - start[d];
      mover.Set(to[i], from[kept[i]]);
    }
    return mover.status();
  }));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, std::move(shape));
  return absl::OkStatus();
}

// Of each value of the whole, the gradient of what it became, in one order; 0 where it was left
// out.
template <typename T>
struct SliceGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor &grads = ctx.input(0), &all = ctx.input(1), &start = ctx.input(2),
                 &part = ctx.input(3);
    const int64_t rank = start.num_elements();
    if (grads.rank() != 1 || start.rank() != 1 || all.rank() != 2 || part.rank() != 2 ||
        all.dim(1) != rank || part.dim(1) != rank || part.dim(0) != grads.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input_indices and output_indices must be matrices of ", rank,
          " columns, as input_start, a vector, has elements, and backprop_val_grad a vector with "
          "an element for each output; their shapes are ",
          all.shape().ToString(), ", ", part.shape().ToString(), ", ", start.shape().ToString(),
          " and ", grads.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DTypeOf<T>, Shape::Vector(all.dim(0))));
    const int64_t* whole = all.values<int64_t>().data();
    const int64_t* kept = part.values<int64_t>().data();
    const int64_t* from = start.values<int64_t>().data();
    const T* grad = grads.values<T>().data();
    T* to = out.mutable_values<T>().data();
    int64_t j = 0;
    for (int64_t i = 0; i < all.dim(0) && j < part.dim(0); ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      bool is_same = true;
      for (int64_t d = 0; d < rank && is_same; ++d) {
        is_same = static_cast<uint64_t>(whole[i * rank + d]) ==
                  static_cast<uint64_t>(kept[j * rank + d]) + static_cast<uint64_t>(from[d]);
      }
      if (is_same) to[i] = grad[j++];
    }
    if (j < part.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_indices[", j, "] is not among input_indices, or out of their order"));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status SliceShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(3, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(4, 1));
  SetSparse(c, 0, -1, KnownSparseRank(c, 0, 2));
  return absl::OkStatus();
}

absl::Status SliceGradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  c.set_output(0, PartialShape(Dims{c.input(1).has_rank() ? c.input(1).dim(0) : -1}));
  return absl::OkStatus();
}

void SliceGradient(GradientContext& g) {
  if (g.has_grad(1))
    g.Add(1, g.op("SparseSliceGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)}));
}

// Linear: what is picked is picked from the gradient, by slicing places.
void SliceGradGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr grads = g.grad();
  // Of each kept element its place, by the gradient of its own number.
  const Expr numbers = g.op("Size", {g.input(0)});
  const Expr number = g.op("Range", {b.Int(1), numbers + b.Int(1), b.Int(1)});
  const Expr marked = g.op("SparseSliceGrad", {number, g.input(1), g.input(2), g.input(3)});
  const Expr where = g.op("Where", {g.op("Greater", {marked, b.Int(0)})});
  g.Add(0, g.op("GatherNd", {grads, where}));
}

}  // namespace

void RegisterSparseSlice(OpRegistry& ops) {
  ops.Add({.schema = "SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: "
                     "int64) -> output_indices: int64, output_values: T, output_shape: int64 {T: "
                     "type}",
           .doc = "The part of a sparse tensor from `start` on, at most `size` large.",
           .shape = SliceShape,
           .gradient = {SliceGradient},
           .kernel = Compute<SliceSparse>()});
  ops.Add({.schema = "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: "
                     "int64, output_indices: int64) -> val_grad: T {T: numbertype}",
           .doc = "The gradient of SparseSlice's values.",
           .shape = SliceGradShape,
           .gradient = {SliceGradGradient},
           .kernel = ForTypes<SliceGradKernel, NumberTypes>("T")});
}

}  // namespace gyre
