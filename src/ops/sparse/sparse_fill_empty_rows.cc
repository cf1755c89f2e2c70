// SparseFillEmptyRows and its gradient: a value for each row of a sparse tensor that has none.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

// Where the values of each row begin in the result: rows without any have one place.
struct RowPlaces {
  Tensor starts;  // int64 [rows + 1]
  Tensor is_empty;
};

absl::StatusOr<RowPlaces> PlacesOf(const KernelContext& ctx, const SparseInput& in) {
  const int64_t rows = in.shape[0];
  GYRE_ASSIGN_OR_RETURN(const Shape size, Shape::Make({rows}));
  GYRE_ASSIGN_OR_RETURN(Tensor is_empty, ctx.Allocate(DType::kBool, size));
  GYRE_ASSIGN_OR_RETURN(Tensor starts, ctx.AllocateZeros(DType::kInt64, Shape::Vector(rows + 1)));
  int64_t* start = starts.mutable_values<int64_t>().data();
  bool* empty = is_empty.mutable_values<bool>().data();
  for (int64_t i = 0; i < in.n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t row = in.row(i)[0];
    if (row < 0 || row >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, ",0] = ", row, " is not in [0, ", rows, ")"));
    }
    ++start[row + 1];
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    empty[row] = start[row + 1] == 0;
    start[row + 1] = start[row] + std::max<int64_t>(1, start[row + 1]);
  }
  return RowPlaces{std::move(starts), std::move(is_empty)};
}

absl::Status FillRows(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "", false));
  if (in.rank() < 1) {
    return absl::InvalidArgumentError("a sparse tensor without dimensions has no rows");
  }
  if (ctx.input(3).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "default_value must be a scalar, but its shape is ", ctx.input(3).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(RowPlaces places, PlacesOf(ctx, in));
  const int64_t rows = in.shape[0], rank = in.rank();
  int64_t* next = places.starts.mutable_values<int64_t>().data();
  const int64_t total = next[rows];
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, total, rank));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(ctx.input(1).dtype(), Shape::Vector(total)));
  GYRE_ASSIGN_OR_RETURN(Tensor map, ctx.Allocate(DType::kInt64, Shape::Vector(in.n)));
  int64_t* index = indices.mutable_values<int64_t>().data();
  int64_t* mapped = map.mutable_values<int64_t>().data();
  const bool* empty = places.is_empty.values<bool>().data();
  GYRE_RETURN_IF_ERROR(VisitElement(values.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(ctx.input(1).raw_data());
    const T* filler = static_cast<const T*>(ctx.input(3).raw_data());
    T* to = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    for (int64_t row = 0; row < rows; ++row) {
      if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (!empty[row]) continue;
      index[next[row] * rank] = row;
      std::fill_n(index + next[row] * rank + 1, rank - 1, int64_t{0});
      mover.Set(to[next[row]], *filler);
    }
    for (int64_t i = 0; i < in.n; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int64_t at = next[in.row(i)[0]]++;
      std::copy_n(in.row(i), rank, index + at * rank);
      mover.Set(to[at], from[i]);
      mapped[i] = at;
    }
    return mover.status();
  }));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, std::move(places.is_empty));
  ctx.set_output(3, std::move(map));
  return absl::OkStatus();
}

absl::Status FillShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(3));
  c.set_output(0, PartialShape(Dims{-1, KnownSparseRank(c, 0, 2)}));
  c.set_output(1, PartialShape(Dims{-1}));
  const auto shape = c.input_ints(2);
  c.set_output(
      2, PartialShape(Dims{shape && !shape->empty() ? std::max<int64_t>(-1, (*shape)[0]) : -1}));
  c.set_output(3, PartialShape(Dims{c.input(1).has_rank() ? c.input(1).dim(0) : -1}));
  return absl::OkStatus();
}

void FillGradient(GradientContext& g) {
  if (!g.has_grad(1)) return;
  const std::vector<Expr> grads =
      g.builder().Ops("SparseFillEmptyRowsGrad", {g.output(3), g.grad(1)}, {}, 2);
  if (g.wants(1)) g.Add(1, grads[0]);
  if (g.wants(3)) g.Add(3, grads[1]);
}

// To each value the gradient of where it went, and to the default the sum of all others.
template <typename T>
struct FillGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor &map = ctx.input(0), &grads = ctx.input(1);
    if (map.rank() != 1 || grads.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("reverse_index_map and grad_values must be vectors, but their shapes are ",
                       map.shape().ToString(), " and ", grads.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor d_values, ctx.Allocate(DTypeOf<T>, map.shape()));
    GYRE_ASSIGN_OR_RETURN(Tensor taken, ctx.AllocateZeros(DType::kBool, grads.shape()));
    const int64_t n = grads.num_elements();
    const T* from = grads.values<T>().data();
    T* to = d_values.mutable_values<T>().data();
    bool* is_taken = taken.mutable_values<bool>().data();
    int64_t i = 0;
    for (const int64_t at : map.values<int64_t>()) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (at < 0 || at >= n) {
        return absl::InvalidArgumentError(
            absl::StrCat("reverse_index_map[", i, "] = ", at, " is not in [0, ", n, ")"));
      }
      to[i++] = from[at];
      is_taken[at] = true;
    }
    Accumulator<T> rest{};
    for (int64_t j = 0; j < n; ++j) {
      if (j % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (!is_taken[j]) rest += ToAccumulator(from[j]);
    }
    ctx.set_output(0, std::move(d_values));
    ctx.set_output(1, Tensor::Scalar<T>(FromAccumulator<T>(rest)));
    return absl::OkStatus();
  }
};

absl::Status FillGradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  c.set_output(0, c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(1));
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// Linear: what was taken has the gradient of its value, all else that of the sum.
void FillGradGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr zeros = Fill(g.input_dims(1), b.Zero(g.input_dtype(1)));
  const Expr rest = g.has_grad(1) ? zeros + g.grad(1) : zeros;
  const Expr index = g.op("ExpandDims", {g.input(0), b.Int(1)});
  const Expr own = g.has_grad(0) ? g.grad(0) : Fill(g.input_dims(0), b.Zero(g.input_dtype(1)));
  g.Add(1, g.op("TensorScatterUpdate", {rest, index, own}));
}

}  // namespace

void RegisterSparseFillEmptyRows(OpRegistry& ops) {
  ops.Add({.schema = "SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, "
                     "default_value: T) -> output_indices: int64, output_values: T, "
                     "empty_row_indicator: bool, reverse_index_map: int64 {T: type}",
           .doc = "A sparse matrix in which rows without values have a default value.",
           .shape = FillShape,
           .gradient = {FillGradient},
           .kernel = Compute<FillRows>()});
  ops.Add({.schema = "SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> "
                     "d_values: T, d_default_value: T {T: numbertype}",
           .doc = "The gradient of SparseFillEmptyRows.",
           .shape = FillGradShape,
           .gradient = {FillGradGradient},
           .kernel = ForTypes<FillGradKernel, NumberTypes>("T")});
}

}  // namespace gyre
