// SparseDenseCwiseAdd, …Mul, …Div: the values of a sparse tensor, each with the element of a dense
// one, which is broadcast to its shape.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

enum class Cwise : uint8_t { kAdd, kMul, kDiv };

template <typename T, Cwise kOp>
absl::StatusOr<T> Apply(T x, T y) {
  using A = Accumulator<T>;
  const A a = ToAccumulator(x), b = ToAccumulator(y);
  if constexpr (kOp == Cwise::kAdd) {
    return FromAccumulator<T>(a + b);
  } else if constexpr (kOp == Cwise::kMul) {
    return FromAccumulator<T>(Product(a, b));
  } else if constexpr (std::is_integral_v<T>) {
    if (y == 0) return absl::InvalidArgumentError("integers are divided by zero");
    if constexpr (std::is_signed_v<T>) {
      if (y == T{-1}) return FromAccumulator<T>(A{0} - a);
    }
    return static_cast<T>(x / y);
  } else {
    return FromAccumulator<T>(a / b);
  }
}

template <Cwise kOp>
struct Kernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "sp_"));
      const Tensor& dense = ctx.input(3);
      const int added = static_cast<int>(in.rank()) - dense.rank();
      bool fits = added >= 0;
      for (int d = 0; fits && d < dense.rank(); ++d)
        fits = dense.dim(d) == 1 || dense.dim(d) == in.shape[added + d];
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("dense, of shape ", dense.shape().ToString(),
                                                       ", cannot be broadcast to sp_shape, ",
                                                       Shape::Make(in.shape)->ToString()));
      }
      Dims strides(in.rank(), 0);
      int64_t stride = 1;
      for (int d = dense.rank() - 1; d >= 0; --d) {
        if (dense.dim(d) != 1) strides[added + d] = stride;
        stride *= dense.dim(d);
      }
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, Shape::Vector(in.n)));
      const T* values = ctx.input(1).values<T>().data();
      const T* others = dense.values<T>().data();
      T* to = out.mutable_values<T>().data();
      for (int64_t i = 0; i < in.n; ++i) {
        if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        int64_t at = 0;
        for (int64_t d = 0; d < in.rank(); ++d) at += in.row(i)[d] * strides[d];
        GYRE_ASSIGN_OR_RETURN(to[i], (Apply<T, kOp>(values[i], others[at])));
      }
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }
  };
};

absl::Status CwiseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, PartialShape(Dims{c.input(1).has_rank() ? c.input(1).dim(0) : -1}));
  return absl::OkStatus();
}

// The dimensions of the dense tensor behind a 1: there is one at least then.
Expr DenseDims(GradientContext& g) {
  const Expr one = Reshape(g.builder().Scalar(DType::kInt64, 1), g.builder().Ints({1}));
  return g.op("ConcatV2", {one, Cast(g.input_dims(3), DType::kInt64), g.builder().Int(0)});
}

// The indices, in such a tensor, of the elements that the values have met.
Expr DenseIndices(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr dims = DenseDims(g);
  const Expr added = g.op("Size", {g.input(2)}) - g.op("Size", {dims}) + b.Int(1);
  const Expr begin = g.op("ConcatV2", {b.Ints({0}), Reshape(added, b.Ints({1})), b.Int(0)});
  const Expr own = g.op("Slice", {g.input(0), begin, b.Ints({-1, -1})});
  const Expr first = ZerosLike(Sum(g.input(0), b.Int(1), /*keep_dims=*/true));
  const Expr index = g.op("ConcatV2", {first, own, b.Int(1)});
  // 0 along dimensions of size 1.
  const Expr last = g.op("Maximum", {dims - b.Scalar(DType::kInt64, 1), b.Zero(DType::kInt64)});
  return g.op("Minimum", {index, last});
}

void AddToDense(GradientContext& g, Expr index, Expr values) {
  const Expr sums = g.op("ScatterNd", {index, values, DenseDims(g)});
  g.Add(3, Reshape(sums, g.input_dims(3)));
}

template <Cwise kOp>
void CwiseGradient(GradientContext& g) {
  if (!g.wants(1) && !g.wants(3)) return;
  const Expr index = DenseIndices(g);
  if constexpr (kOp == Cwise::kAdd) {
    if (g.wants(1)) g.Add(1, g.grad());
    if (g.wants(3)) AddToDense(g, index, g.grad());
  } else {
    const Expr met = g.op("GatherNd", {Reshape(g.input(3), DenseDims(g)), index});
    if constexpr (kOp == Cwise::kMul) {
      if (g.wants(1)) g.Add(1, g.grad() * Conj(met));
      if (g.wants(3)) AddToDense(g, index, g.grad() * Conj(g.input(1)));
    } else {
      if (g.wants(1)) g.Add(1, g.grad() / Conj(met));
      if (g.wants(3)) AddToDense(g, index, -(g.grad() * Conj(g.input(1) / (met * met))));
    }
  }
}

template <Cwise kOp>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  const std::string schema =
      absl::StrCat(name,
                   "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T {T: "
                   "numbertype}");
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = CwiseShape,
           .gradient = {CwiseGradient<kOp>},
           .kernel = ForTypes<Kernels<kOp>::template For, NumberTypes>("T")});
}

}  // namespace

void RegisterSparseCwise(OpRegistry& ops) {
  Add<Cwise::kAdd>(
      ops, "SparseDenseCwiseAdd",
      "The values of a sparse tensor, each with the dense element at its place added.");
  Add<Cwise::kMul>(ops, "SparseDenseCwiseMul",
                   "The values of a sparse tensor, each times the dense element at its place.");
  Add<Cwise::kDiv>(ops, "SparseDenseCwiseDiv",
                   "The values of a sparse tensor, each by the dense element at its place.");
}

}  // namespace gyre
