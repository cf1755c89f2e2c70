// Solutions of triangular systems of linear equations.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/triangular.h"

namespace gyre {
namespace {

PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() < 2) return PartialShape::Unknown();
  return PartialShape(Dims(shape.dims().begin(), shape.dims().end() - 2));
}

}  // namespace

absl::Status TriangularShape(ShapeContext& c, const PartialShape& a) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, matrix_shape::Matrices(c, 1, "rhs"));
  if (!a.has_rank() || !b.has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const int64_t n,
                        matrix_shape::SameSize(a.dim(a.rank() - 1), b.dim(b.rank() - 2)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape batch, shape::BroadcastShapes(BatchOf(a), BatchOf(b)));
  if (batch.has_rank()) c.set_output(0, matrix_shape::Like(batch, 0, {n, b.dim(b.rank() - 1)}));
  return absl::OkStatus();
}

void AddTriangularGradients(GradientContext& g, Expr to_rhs,
                            absl::FunctionRef<Expr(MatrixFormulas&, Expr)> part) {
  const auto stretch = [&](int i) {
    return gradient::StretchOf(BatchOf(g.input_shape(i)), BatchOf(g.output_shape(0)),
                               {BatchOf(g.input_shape(1 - i))});
  };
  if (g.wants(1)) gradient::AddStretched(g, 1, to_rhs, stretch(1));
  if (!g.wants(0)) return;
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr x = g.output(0);
  const Expr whole = TriangularAttrs(g.node()).adjoint ? m.Product(x, to_rhs, false, true)
                                                       : m.Product(to_rhs, x, false, true);
  gradient::AddStretched(g, 0, -part(m, whole), stretch(0));
}

absl::Status TriangularBatch(BatchContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int left, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int right, c.NeedRank(1));
  const int rank = std::max(left, right);
  return c.Emit({c.is_stacked(0) ? c.stacked(0, rank) : c.input(0),
                 c.is_stacked(1) ? c.stacked(1, rank) : c.input(1)});
}

namespace {

// x of matrix x = rhs. False: a zero on the diagonal.
template <typename M, typename X>
bool SolveInPlace(const M& matrix, const TriangularAttrs& attrs, X&& x) {
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    if (!(std::abs(matrix(i, i)) > 0)) return false;
  }
  const auto lower = matrix.template triangularView<Eigen::Lower>();
  const auto upper = matrix.template triangularView<Eigen::Upper>();
  if (attrs.lower) {
    attrs.adjoint ? lower.adjoint().solveInPlace(x) : lower.solveInPlace(x);
  } else {
    attrs.adjoint ? upper.adjoint().solveInPlace(x) : upper.solveInPlace(x);
  }
  return true;
}

template <typename T>
struct TriangularSolveKernel {
  static absl::Status Run(KernelContext& ctx, const TriangularAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch matrices, SquareMatricesOf(ctx, 0, "matrix"));
    return SolveTriangularSystems<T>(ctx, matrices, [&](const TriangularSystem<T>& system) {
      return One(system.matrix, system.rhs, system.n, system.k, attrs, system.x);
    });
  }

 private:
  static bool One(const T* from, const T* right, int64_t n, int64_t k, const TriangularAttrs& attrs,
                  T* to) {
    if constexpr (kIsSmallFloat<T>) {
      const auto wide = [](T x) { return static_cast<float>(x); };
      EigenMatrix<float> matrix(n, n), x(n, k);
      std::transform(from, from + n * n, matrix.data(), wide);
      std::transform(right, right + n * k, x.data(), wide);
      if (!SolveInPlace(matrix, attrs, x)) return false;
      std::transform(x.data(), x.data() + n * k, to, [](float v) { return static_cast<T>(v); });
      return true;
    } else {
      auto x = MatrixAt(to, n, k);
      x = MatrixAt(right, n, k);
      return SolveInPlace(MatrixAt(from, n, n), attrs, x);
    }
  }
};

absl::Status TriangularSolveShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::SquareMatrices(c, 0, "matrix"));
  return TriangularShape(c, a);
}

void TriangularSolveGradient(GradientContext& g) {
  const TriangularAttrs attrs(g.node());
  const Expr to_rhs =
      MatrixFormulas::OfInput(g).SolveTriangular(g.input(0), g.grad(), attrs.lower, !attrs.adjoint);
  AddTriangularGradients(g, to_rhs, [&](MatrixFormulas& m, Expr whole) {
    return attrs.lower ? m.Lower(whole) : m.Upper(whole);
  });
}

void AddTriangularSolve(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name,
                             "(matrix: T, rhs: T) -> output: T {lower: bool = true; "
                             "adjoint: bool = false; T: ",
                             types, "}"),
      .doc = "x of matrix x = rhs, or of matrix* x = rhs, for triangular matrices, of which one "
             "half is read.",
      .shape = TriangularSolveShape,
      .gradient = {TriangularSolveGradient},
      .batch = {TriangularBatch},
      .kernel = ForTypes<TriangularSolveKernel,
                         Types<float, double, Half, BFloat16, complex64, complex128>>("T"),
  });
}

}  // namespace

void RegisterTriangularSolve(OpRegistry& ops) {
  AddTriangularSolve(ops, "MatrixTriangularSolve",
                     "{bfloat16, double, float, half, complex64, complex128}");
  AddTriangularSolve(ops, "BatchMatrixTriangularSolve", "{double, float}");
}

}  // namespace gyre
