// BandedTriangularSolve: solutions of triangular systems of which a few diagonals are not zero.
//
// A matrix of n rows is held as its k diagonals, [k, n]: element (d, i) of a lower one is
// A(i, i - d), of an upper one A(i, i + k - 1 - d). Elements that are outside of A are not read.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
#include "ops/math/broadcast.h"

namespace gyre {
namespace {

struct BandedAttrs {
  explicit BandedAttrs(const Node& node)
      : lower(NodeAttr<bool>(node, "lower")), adjoint(NodeAttr<bool>(node, "adjoint")) {}
  bool lower;
  bool adjoint;
};

absl::Status CheckBands(int64_t bands, int64_t n) {
  if (bands == 0) return absl::InvalidArgumentError("there must be at least one diagonal");
  if (bands < 0 || n < 0 || bands <= n) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", bands, " diagonals, more than rows, ", n));
}

template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

// One system of n rows, with k right-hand sides.
template <typename T>
struct BandedSystem {
  const T* diagonals;
  int64_t bands, n, k;
  BandedAttrs attrs;

  const T* main() const { return diagonals + (attrs.lower ? 0 : bands - 1) * n; }
  bool IsSingular() const {
    return std::any_of(main(), main() + n, [](T x) { return !(std::abs(x) > 0); });
  }
  // The factor of row j in the equation of row i, conjugated where the matrix is.
  T Factor(int64_t i, int64_t j) const {
    const int64_t row = attrs.adjoint ? j : i, column = attrs.adjoint ? i : j;
    const int64_t d = attrs.lower ? row - column : bands - 1 - (column - row);
    const T x = diagonals[d * n + row];
    return attrs.adjoint ? Conjugate(x) : x;
  }
  // False: the run is to stop.
  bool Solve(const KernelContext& ctx, const T* rhs, T* x) const {
    const bool forwards = attrs.lower != attrs.adjoint;
    const int64_t rows_per_poll = std::max<int64_t>(1, (1 << 16) / (bands * k));
    for (int64_t step = 0; step < n; ++step) {
      if (step % rows_per_poll == 0 && !ctx.Poll().ok()) return false;
      const int64_t i = forwards ? step : n - 1 - step;
      T* const to = x + i * k;
      std::copy_n(rhs + i * k, k, to);
      for (int64_t away = std::min(step, bands - 1); away > 0; --away) {
        const int64_t j = forwards ? i - away : i + away;
        const T factor = Factor(i, j);
        for (int64_t c = 0; c < k; ++c) to[c] -= factor * x[j * k + c];
      }
      const T pivot = Factor(i, i);
      for (int64_t c = 0; c < k; ++c) to[c] /= pivot;
    }
    return true;
  }
};

template <typename T>
struct BandedSolveKernel {
  static absl::Status Run(KernelContext& ctx, const BandedAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch matrices, MatricesOf(ctx, 0, "matrix"));
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 1, "rhs"));
    const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
    const int64_t bands = matrices.rows, n = matrices.columns, k = rhs.columns;
    GYRE_RETURN_IF_ERROR(CheckBands(bands, n));
    if (rhs.rows != n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "matrix and rhs do not match: their shapes are ", a.ToString(), " and ", b.ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const Shape a_batch, ShapeLike(a, 2, {}));
    GYRE_ASSIGN_OR_RETURN(const Shape b_batch, ShapeLike(b, 2, {}));
    GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast({&a_batch, &b_batch}));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(plan.shape, 0, {n, k}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const T* from = static_cast<const T*>(ctx.input(0).raw_data());
      const T* right = static_cast<const T*>(ctx.input(1).raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      const double work = static_cast<double>(n) * static_cast<double>(bands * k);
      GYRE_RETURN_IF_ERROR(
          ForEachMatrix(ctx, plan.shape.num_elements(), work, [&](int64_t i) -> const char* {
            const char* failed = nullptr;
            ForEachStretch(plan, i, i + 1, [&](const BroadcastPlan::Offsets& at, int64_t, int64_t) {
              const BandedSystem<T> system{from + at[0] * bands * n, bands, n, k, attrs};
              if (system.IsSingular()) {
                failed = "Input matrix is not invertible.";
              } else {
                system.Solve(ctx, right + at[1] * n * k, to + i * n * k);
              }
            });
            return failed;
          }));
      GYRE_RETURN_IF_ERROR(ctx.Poll());  // systems may have ended half-way
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() < 2) return PartialShape::Unknown();
  return PartialShape(Dims(shape.dims().begin(), shape.dims().end() - 2));
}

absl::Status BandedSolveShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::Matrices(c, 0, "matrix"));
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, matrix_shape::Matrices(c, 1, "rhs"));
  if (!a.has_rank() || !b.has_rank()) return absl::OkStatus();
  GYRE_RETURN_IF_ERROR(CheckBands(a.dim(a.rank() - 2), a.dim(a.rank() - 1)));
  GYRE_ASSIGN_OR_RETURN(const int64_t n,
                        matrix_shape::SameSize(a.dim(a.rank() - 1), b.dim(b.rank() - 2)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape batch, shape::BroadcastShapes(BatchOf(a), BatchOf(b)));
  if (batch.has_rank()) c.set_output(0, matrix_shape::Like(batch, 0, {n, b.dim(b.rank() - 1)}));
  return absl::OkStatus();
}

// The diagonals, as the matrix holds them, of matrices of full size.
Expr BandOf(GradientContext& g, Expr whole, bool lower) {
  ExprBuilder& b = g.builder();
  const Expr dims = g.input_dims(0);
  const Expr bands = g.op("StridedSlice", {dims, b.Ints({-2}), b.Ints({-1}), b.Ints({1})});
  const Expr zero = b.Ints({0});
  const std::vector<Expr> k = lower ? std::vector<Expr>{1.0 - bands, zero, b.Int(0)}
                                    : std::vector<Expr>{zero, bands - 1.0, b.Int(0)};
  return Reshape(
      g.op("MatrixDiagPartV3", {whole, g.op("ConcatV2", k), b.Zero(whole.dtype())},
           {{"align", "LEFT_RIGHT"}}),
      g.op("ConcatV2", {g.op("StridedSlice", {ShapeOf(whole), zero, b.Ints({-2}), b.Ints({1})},
                             {{"begin_mask", int64_t{1}}}),
                        g.op("StridedSlice", {dims, b.Ints({-2}), zero, b.Ints({1})},
                             {{"end_mask", int64_t{1}}}),
                        b.Int(0)}));
}

void BandedSolveGradient(GradientContext& g) {
  const BandedAttrs attrs(g.node());
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr to_rhs = g.op("BandedTriangularSolve", {g.input(0), g.grad()},
                           {{"lower", attrs.lower}, {"adjoint", !attrs.adjoint}});
  const auto stretch = [&](int i) {
    return gradient::StretchOf(BatchOf(g.input_shape(i)), BatchOf(g.output_shape(0)),
                               {BatchOf(g.input_shape(1 - i))});
  };
  if (g.wants(1)) gradient::AddStretched(g, 1, to_rhs, stretch(1));
  if (!g.wants(0)) return;
  const Expr x = g.output(0);
  const Expr whole =
      attrs.adjoint ? m.Product(x, to_rhs, false, true) : m.Product(to_rhs, x, false, true);
  gradient::AddStretched(g, 0, -BandOf(g, whole, attrs.lower), stretch(0));
}

absl::Status BandedSolveBatch(BatchContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int left, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int right, c.NeedRank(1));
  const int rank = std::max(left, right);
  return c.Emit({c.is_stacked(0) ? c.stacked(0, rank) : c.input(0),
                 c.is_stacked(1) ? c.stacked(1, rank) : c.input(1)});
}

}  // namespace

void RegisterBandedSolve(OpRegistry& ops) {
  ops.Add({
      .schema = "BandedTriangularSolve(matrix: T, rhs: T) -> output: T {lower: bool = true; "
                "adjoint: bool = false; T: {double, float, half, complex64, complex128}}",
      .doc = "x of matrix x = rhs, or of matrix* x = rhs, for triangular matrices given by their "
             "diagonals.",
      .shape = BandedSolveShape,
      .gradient = {BandedSolveGradient},
      .batch = {BandedSolveBatch},
      .kernel = ForTypes<BandedSolveKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre
