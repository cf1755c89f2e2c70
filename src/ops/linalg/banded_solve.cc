// BandedTriangularSolve: solutions of triangular systems of which a few diagonals are not zero.
//
// A matrix of n rows is held as its k diagonals, [k, n]: element (d, i) of a lower one is
// A(i, i - d), of an upper one A(i, i + k - 1 - d). Elements that are outside of A are not read.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/linalg/triangular.h"

namespace gyre {
namespace {

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

template <typename T>
struct BandedSystem {
  const TriangularSystem<T>& system;
  int64_t bands;
  TriangularAttrs attrs;

  bool IsSingular() const {
    const T* const main = system.matrix + (attrs.lower ? 0 : bands - 1) * system.n;
    return std::any_of(main, main + system.n, [](T x) { return !(std::abs(x) > 0); });
  }
  // The factor of row j in the equation of row i, conjugated where the matrix is.
  T Factor(int64_t i, int64_t j) const {
    const int64_t row = attrs.adjoint ? j : i, column = attrs.adjoint ? i : j;
    const int64_t d = attrs.lower ? row - column : bands - 1 - (column - row);
    const T x = system.matrix[d * system.n + row];
    return attrs.adjoint ? Conjugate(x) : x;
  }
  // Ends half-way where the run is to stop.
  void Solve(const KernelContext& ctx) const {
    const int64_t n = system.n, k = system.k;
    T* const x = system.x;
    const bool forwards = attrs.lower != attrs.adjoint;
    const int64_t rows_per_poll = std::max<int64_t>(1, (1 << 16) / (bands * k));
    for (int64_t step = 0; step < n; ++step) {
      if (step % rows_per_poll == 0 && !ctx.Poll().ok()) return;
      const int64_t i = forwards ? step : n - 1 - step;
      T* const to = x + i * k;
      std::copy_n(system.rhs + i * k, k, to);
      for (int64_t away = std::min(step, bands - 1); away > 0; --away) {
        const int64_t j = forwards ? i - away : i + away;
        const T factor = Factor(i, j);
        for (int64_t c = 0; c < k; ++c) to[c] -= factor * x[j * k + c];
      }
      const T pivot = Factor(i, i);
      for (int64_t c = 0; c < k; ++c) to[c] /= pivot;
    }
  }
};

template <typename T>
struct BandedSolveKernel {
  static absl::Status Run(KernelContext& ctx, const TriangularAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch matrices, MatricesOf(ctx, 0, "matrix"));
    GYRE_RETURN_IF_ERROR(CheckBands(matrices.rows, matrices.columns));
    GYRE_RETURN_IF_ERROR(
        SolveTriangularSystems<T>(ctx, matrices, [&](const TriangularSystem<T>& system) {
          const BandedSystem<T> banded{system, matrices.rows, attrs};
          if (banded.IsSingular()) return false;
          banded.Solve(ctx);
          return true;
        }));
    return ctx.Poll();
  }
};

absl::Status BandedSolveShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::Matrices(c, 0, "matrix"));
  if (a.has_rank()) GYRE_RETURN_IF_ERROR(CheckBands(a.dim(a.rank() - 2), a.dim(a.rank() - 1)));
  return TriangularShape(c, a);
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
  const TriangularAttrs attrs(g.node());
  const Expr to_rhs = g.op("BandedTriangularSolve", {g.input(0), g.grad()},
                           {{"lower", attrs.lower}, {"adjoint", !attrs.adjoint}});
  AddTriangularGradients(
      g, to_rhs, [&](MatrixFormulas&, Expr whole) { return BandOf(g, whole, attrs.lower); });
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
      .batch = {TriangularBatch},
      .kernel = ForTypes<BandedSolveKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre
