// Solutions of linear least-squares problems.

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/QR>
// clang-format on

namespace gyre {
namespace {

struct FastAttr {
  explicit FastAttr(const Node& node) : fast(NodeAttr<bool>(node, "fast")) {}
  bool fast;
};

template <typename T>
struct LeastSquaresKernel {
  static absl::Status Run(KernelContext& ctx, const FastAttr& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch matrices, MatricesOf(ctx, 0, "matrix"));
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 1, "rhs"));
    const int64_t m = matrices.rows, n = matrices.columns, k = rhs.columns;
    const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
    GYRE_ASSIGN_OR_RETURN(const Shape wanted, ShapeLike(a, 2, {m, k}));
    if (wanted != b) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input matrix and rhs are incompatible: their shapes are ", a.ToString(),
                       " and ", b.ToString()));
    }
    if (!ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat("l2_regularizer must be scalar, got shape ",
                                                     ctx.input(2).shape().ToString()));
    }
    const double l2 = ctx.input(2).scalar<double>();
    if (!(l2 >= 0)) {
      return absl::InvalidArgumentError("l2_regularizer must be non-negative.");
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(a, 2, {n, k}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DTypeOf<T>, shape));
    if (out.num_elements() > 0 && m > 0) {
      const T* from = ctx.input(0).values<T>().data();
      const T* right = ctx.input(1).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = 2.0 * static_cast<double>(m) * n * (std::min(m, n) + k);
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, matrices.count, work, [&](int64_t i) {
        return Solve(MatrixAt(from + i * m * n, m, n), MatrixAt(right + i * m * k, m, k),
                     static_cast<RealOf<T>>(l2), attrs.fast, MatrixAt(to + i * n * k, n, k));
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  using In = Eigen::Map<const EigenMatrix<T>>;

  // By the normal equations, or by an orthogonal decomposition.
  static const char* Solve(const In& matrix, const In& rhs, RealOf<T> l2, bool fast,
                           Eigen::Map<EigenMatrix<T>> x) {
    if (!fast) {
      using C = SolverType<T>;
      const EigenMatrix<C> a = matrix.template cast<C>(), b = rhs.template cast<C>();
      const EigenMatrix<C> solution =
          Eigen::CompleteOrthogonalDecomposition<EigenMatrix<C>>(a).solve(b);
      x = solution.template cast<T>();
      return nullptr;
    }
    const bool is_tall = matrix.rows() >= matrix.cols();
    EigenMatrix<T> gramian = is_tall ? EigenMatrix<T>(matrix.adjoint() * matrix)
                                     : EigenMatrix<T>(matrix * matrix.adjoint());
    gramian.diagonal().array() += T(l2);
    const Eigen::LLT<EigenMatrix<T>, Eigen::Lower> llt(gramian);
    if (llt.info() != Eigen::Success) {
      return "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or "
             "provide "
             "a larger l2_regularizer > 0.";
    }
    if (is_tall) {
      x = llt.solve(EigenMatrix<T>(matrix.adjoint() * rhs));
    } else {
      x = matrix.adjoint() * EigenMatrix<T>(llt.solve(rhs));
    }
    return nullptr;
  }
};

absl::Status LeastSquaresShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::Matrices(c, 0, "matrix"));
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, matrix_shape::Matrices(c, 1, "rhs"));
  if (!a.has_rank() || !b.has_rank()) return absl::OkStatus();
  const absl::StatusOr<PartialShape> both =
      matrix_shape::Like(a, 1, {b.dim(b.rank() - 1)}).Intersect(b);
  if (!both.ok()) return Annotate(both.status(), "matrix and rhs do not fit together");
  c.set_output(0, matrix_shape::Like(*both, 2, {a.dim(a.rank() - 1), both->dim(both->rank() - 1)}));
  return absl::OkStatus();
}

// Of solutions of the normal equations.
struct Normal {
  GradientContext& g;
  MatrixFormulas m;
  Expr lower;  // the Cholesky decomposition of the gramian

  Normal(GradientContext& context, bool is_tall) : g(context), m(MatrixFormulas::OfInput(context)) {
    const Expr a = g.input(0);
    const Expr gramian = m.Product(a, a, is_tall, !is_tall);
    const Expr l2 = Cast(g.input(2), a.dtype());
    lower = g.op("Cholesky", {m.WithDiagonal(gramian, m.DiagonalOf(gramian) + l2)});
  }
  Expr Solve(Expr rhs) {
    return m.SolveTriangular(lower, m.SolveTriangular(lower, rhs, true, false), true, true);
  }
};

void TallGradient(GradientContext& g) {
  Normal normal(g, /*is_tall=*/true);
  MatrixFormulas& m = normal.m;
  const Expr a = g.input(0), x = g.output(0);
  const Expr z = normal.Solve(g.grad());
  if (g.wants(0)) {
    const Expr product = m.Product(x, z, false, true);
    g.Add(0, m.Product(g.input(1), z, false, true) - m.Product(a, product + m.Adjoint(product)));
  }
  if (g.wants(1)) g.Add(1, m.Product(a, z));
}

void WideGradient(GradientContext& g) {
  Normal normal(g, /*is_tall=*/false);
  MatrixFormulas& m = normal.m;
  const Expr a = g.input(0);
  const Expr to_rhs = normal.Solve(m.Product(a, g.grad()));
  g.Add(1, to_rhs);
  if (!g.wants(0)) return;
  const Expr solved = normal.Solve(g.input(1));
  const Expr first = m.Product(to_rhs, m.Product(solved, a, true));
  const Expr rest = g.grad() - m.Product(a, to_rhs, true);
  g.Add(0, m.Product(solved, rest, false, true) - first);
}

void LeastSquaresGradient(GradientContext& g) {
  if (!g.attr<bool>("fast", true)) {
    return g.Fail(absl::UnimplementedError("the gradient is not defined for fast = false"));
  }
  const PartialShape& a = g.input_shape(0);
  const int64_t m = a.has_rank() ? a.dim(a.rank() - 2) : -1;
  const int64_t n = a.has_rank() ? a.dim(a.rank() - 1) : -1;
  if (m < 0 || n < 0) {
    return g.Fail(absl::UnimplementedError(
        "the gradient needs to know the numbers of rows and columns of matrix"));
  }
  m >= n ? TallGradient(g) : WideGradient(g);
}

void AddLeastSquares(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name, "(matrix: T, rhs: T, l2_regularizer: double) -> output: T {T: ",
                             types, "; fast: bool = true}"),
      .doc = "x with the least |matrix x - rhs|² + l2_regularizer |x|²; of several the smallest.",
      .shape = LeastSquaresShape,
      .gradient = {LeastSquaresGradient},
      .batch = {[](BatchContext& c) {
        GYRE_RETURN_IF_ERROR(c.NeedSameFrom(2));
        return c.Emit({c.stacked(0), c.stacked(1), c.input(2)});
      }},
      .kernel = ForTypes<LeastSquaresKernel, DecomposedTypes>("T"),
  });
}

}  // namespace

void RegisterLeastSquares(OpRegistry& ops) {
  AddLeastSquares(ops, "MatrixSolveLs", kDecomposedTypes);
  AddLeastSquares(ops, "BatchMatrixSolveLs", "{double, float}");
}

}  // namespace gyre
