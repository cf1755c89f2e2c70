// SparseTensorDenseMatMul: a sparse matrix times a dense one.
#include <algorithm>
#include <complex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/row_sums.h"

namespace gyre {
namespace {

using MatmulTypes = Types<float, double, Half, BFloat16, int32_t, int64_t, complex64, complex128>;

template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return std::conj(x);
  } else {
    return x;
  }
}

struct MatmulAttrs {
  explicit MatmulAttrs(const Node& node)
      : adjoint_a(NodeAttr<bool>(node, "adjoint_a")),
        adjoint_b(NodeAttr<bool>(node, "adjoint_b")) {}
  bool adjoint_a, adjoint_b;
};

// The product's rows and columns, and what they are sums over.
struct Sizes {
  int64_t m, k, n;
};

absl::StatusOr<Sizes> SizesInput(const KernelContext& ctx, const MatmulAttrs& attrs) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2),
               &b = ctx.input(3);
  if (shape.rank() != 1 || shape.dim(0) != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a_shape must be a vector of 2 elements, but its shape is ", shape.shape().ToString()));
  }
  if (values.rank() != 1 || indices.rank() != 2 || indices.dim(1) != 2 ||
      indices.dim(0) != values.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a_indices must have a row of 2 elements for each of a_values, but their "
                     "shapes are ",
                     indices.shape().ToString(), " and ", values.shape().ToString()));
  }
  if (b.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("b must be a matrix, but its shape is ", b.shape().ToString()));
  }
  const absl::Span<const int64_t> a = shape.values<int64_t>();
  const Sizes sizes{a[attrs.adjoint_a ? 1 : 0], a[attrs.adjoint_a ? 0 : 1],
                    b.dim(attrs.adjoint_b ? 0 : 1)};
  if (sizes.m < 0 || sizes.k < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a_shape must not be negative, but is [", a[0], ",", a[1], "]"));
  }
  if (b.dim(attrs.adjoint_b ? 1 : 0) != sizes.k) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot multiply a, of ", sizes.k, " columns, by b, of ",
                     b.dim(attrs.adjoint_b ? 1 : 0), " rows (transposed as is asked for)"));
  }
  return sizes;
}

// Which values add to which row of the product, in their order: those of row i stand in `entries`
// from starts[i] to starts[i + 1].
struct Rows {
  std::vector<int64_t> starts, entries;
};

template <typename I>
absl::StatusOr<Rows> GroupByRow(const KernelContext& ctx, const Sizes& sizes, bool adjoint_a) {
  const I* indices = ctx.input(0).values<I>().data();
  const int64_t nnz = ctx.input(1).num_elements();
  const int row = adjoint_a ? 1 : 0;
  Rows rows;
  // Charged as what it takes: there may be many more rows than values.
  GYRE_RETURN_IF_ERROR(ctx.Allocate(DType::kInt64, Shape::Vector(sizes.m)).status());
  rows.starts.assign(static_cast<size_t>(sizes.m) + 1, 0);
  for (int64_t e = 0; e < nnz; ++e) {
    if (e % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t i = indices[2 * e + row], k = indices[2 * e + 1 - row];
    if (i < 0 || i >= sizes.m || k < 0 || k >= sizes.k) {
      return absl::InvalidArgumentError(
          absl::StrCat("a_indices[", e, "] = [", indices[2 * e], ",", indices[2 * e + 1],
                       "] is not in a matrix of shape [", adjoint_a ? sizes.k : sizes.m, ",",
                       adjoint_a ? sizes.m : sizes.k, "]"));
    }
    ++rows.starts[i + 1];
  }
  for (int64_t i = 0; i < sizes.m; ++i) rows.starts[i + 1] += rows.starts[i];
  rows.entries.resize(static_cast<size_t>(nnz));
  std::vector<int64_t> next(rows.starts.begin(), rows.starts.end() - 1);
  for (int64_t e = 0; e < nnz; ++e) rows.entries[next[indices[2 * e + row]]++] = e;
  return rows;
}

// b, or its adjoint, row by row.
template <typename T>
absl::StatusOr<Tensor> RowsOfB(const KernelContext& ctx, const Sizes& sizes, bool adjoint_b) {
  const Tensor& b = ctx.input(3);
  if (!adjoint_b) return b;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({sizes.k, sizes.n}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(b.dtype(), shape));
  const T* from = b.values<T>().data();
  T* to = out.mutable_values<T>().data();
  for (int64_t k = 0; k < sizes.k; ++k) {
    if (k % 64 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t j = 0; j < sizes.n; ++j) to[k * sizes.n + j] = Conjugate(from[j * sizes.k + k]);
  }
  return out;
}

template <typename T>
struct MatmulKernel {
  static absl::Status Run(KernelContext& ctx, const MatmulAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const Sizes sizes, SizesInput(ctx, attrs));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({sizes.m, sizes.n}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    GYRE_ASSIGN_OR_RETURN(const Tensor b, RowsOfB<T>(ctx, sizes, attrs.adjoint_b));
    GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(ctx.input_dtype(0), [&](auto tag) {
      return Multiply<typename decltype(tag)::type>(ctx, attrs, sizes, b, out);
    }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kTile = 256;  // columns that are summed up at once

  template <typename I>
  static absl::Status Multiply(const KernelContext& ctx, const MatmulAttrs& attrs,
                               const Sizes& sizes, const Tensor& b, Tensor& out) {
    GYRE_ASSIGN_OR_RETURN(const Rows rows, GroupByRow<I>(ctx, sizes, attrs.adjoint_a));
    const I* indices = ctx.input(0).values<I>().data();
    const T* values = ctx.input(1).values<T>().data();
    const int column = attrs.adjoint_a ? 0 : 1;
    const T* from = static_cast<const T*>(b.raw_data());
    T* to = out.mutable_values<T>().data();
    const int64_t per_row = sizes.m == 0 ? 1 : ctx.input(1).num_elements() / sizes.m + 1;
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / (per_row * (sizes.n + 1)));
    return ctx.ParallelRun(sizes.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < sizes.n; j += kTile) {
          const int64_t n = std::min(kTile, sizes.n - j);
          Accumulator<T> sums[kTile];
          std::fill_n(sums, n, Accumulator<T>{});
          for (int64_t at = rows.starts[i]; at < rows.starts[i + 1]; ++at) {
            if (at % 4096 == 4095 && !ctx.Poll().ok()) return;
            const int64_t e = rows.entries[at];
            const Accumulator<T> value =
                ToAccumulator(attrs.adjoint_a ? Conjugate(values[e]) : values[e]);
            const T* row = from + static_cast<int64_t>(indices[2 * e + column]) * sizes.n + j;
            AddScaledRow(value, row, n, sums);
          }
          for (int64_t c = 0; c < n; ++c) to[i * sizes.n + j + c] = FromAccumulator<T>(sums[c]);
        }
      }
    });
  }
};

absl::Status MatmulShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(3, 2));
  const bool adjoint_a = NodeAttr<bool>(c.node(), "adjoint_a");
  const bool adjoint_b = NodeAttr<bool>(c.node(), "adjoint_b");
  const auto shape = c.input_ints(2);
  int64_t m = -1;
  if (shape && shape->size() == 2) m = std::max<int64_t>(-1, (*shape)[adjoint_a ? 1 : 0]);
  const int64_t n = c.input(3).has_rank() ? c.input(3).dim(adjoint_b ? 0 : 1) : -1;
  c.set_output(0, PartialShape(Dims{m, n}));
  return absl::OkStatus();
}

// y = op(a) B, where B is b or its adjoint: of op(a)[i,k] the gradient is the sum over j of
// g[i,j] conj(B[k,j]), and B has op(a)ᴴ g.
void MatmulGradient(GradientContext& g) {
  const bool adjoint_a = g.attr<bool>("adjoint_a", false);
  const bool adjoint_b = g.attr<bool>("adjoint_b", false);
  const auto adjoint = [&](Expr x) {
    return Conj(g.op("Transpose", {x, g.builder().Ints({1, 0})}));
  };
  if (g.wants(1)) {
    const auto column = [&](int i) {
      return g.op("GatherV2", {g.input(0), g.builder().Int(i), g.builder().Int(1)});
    };
    const auto rows = [&](Expr x, Expr which) {
      return g.op("GatherV2", {x, which, g.builder().Int(0)});
    };
    const Expr b = adjoint_b ? adjoint(g.input(3)) : g.input(3);
    const Expr products =
        rows(g.grad(), column(adjoint_a ? 1 : 0)) * Conj(rows(b, column(adjoint_a ? 0 : 1)));
    const Expr sums = Sum(products, g.builder().Int(1));
    g.Add(1, adjoint_a ? Conj(sums) : sums);
  }
  if (g.wants(3)) {
    const Expr b = g.op("SparseTensorDenseMatMul", {g.input(0), g.input(1), g.input(2), g.grad()},
                        AttrMap{{"adjoint_a", !adjoint_a}, {"adjoint_b", false}});
    g.Add(3, adjoint_b ? adjoint(b) : b);
  }
}

}  // namespace

void RegisterSparseMatmul(OpRegistry& ops) {
  ops.Add({.schema = "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: "
                     "T) -> product: T {T: type; Tindices: {int32, int64} = int64; adjoint_a: bool "
                     "= false; adjoint_b: bool = false}",
           .doc = "The product of a sparse matrix and a dense one, or of their adjoints.",
           .shape = MatmulShape,
           .gradient = {MatmulGradient},
           .kernel = ForTypes<MatmulKernel, MatmulTypes>("T")});
}

}  // namespace gyre
