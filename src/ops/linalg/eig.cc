// Eigenvalues and eigenvectors of any square matrices.

#include "ir/gradient_context.h"
#include "ops/linalg/eigen_solver.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Eigenvalues>
// clang-format on

namespace gyre {
namespace {

template <typename T>
struct EigKernel {
  using R = std::complex<RealOf<T>>;
  using C = SolverType<T>;
  using Solver = std::conditional_t<std::is_same_v<T, R>, Eigen::ComplexEigenSolver<EigenMatrix<C>>,
                                    Eigen::EigenSolver<EigenMatrix<C>>>;

  static absl::Status Run(KernelContext& ctx, const VectorsAttr& attrs) {
    if (ctx.output_dtype(0) != DTypeOf<R>) {
      return absl::InvalidArgumentError(absl::StrCat("Tout must be ", DTypeName(DTypeOf<R>),
                                                     " for T = ", DTypeName(DTypeOf<T>),
                                                     ", but is ", DTypeName(ctx.output_dtype(0))));
    }
    return RunSolver<T, R>(ctx, attrs.vectors, &Solve);
  }

 private:
  static const char* Solve(const Eigen::Map<const EigenMatrix<T>>& matrix, R* values, R* vectors) {
    const char* const failed =
        "Eigen decomposition was not successful. The input might not be valid.";
    if (!matrix.allFinite()) return failed;
    const Solver solver(EigenMatrix<C>(matrix.template cast<C>()), vectors != nullptr);
    if (solver.info() != Eigen::Success) return failed;
    const int64_t n = matrix.rows();
    VectorAt(values, n) = solver.eigenvalues().template cast<R>();
    if (vectors != nullptr) MatrixAt(vectors, n, n) = solver.eigenvectors().template cast<R>();
    return nullptr;
  }
};

// Boeddeker et al., On the computation of complex-valued gradients with application to
// statistically optimum beamforming (2017); vectors have length 1.
void EigGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  Expr v, inner;
  if (VectorsAttr(g.node()).vectors) {
    v = g.output(1);
    inner = m.Diagonal(g.grad(0));
    if (g.has_grad(1)) {
      const Expr turned = m.Product(v, g.grad(1), true);
      const Expr lengths = m.DiagonalOf(Cast(RealPart(turned), turned.dtype()));
      const Expr rest = turned - m.Product(v, v, true) * m.AsRow(lengths);
      inner = inner + Conj(m.ReciprocalDifferences(g.output(0))) * rest;
    }
  } else {
    v = g.builder().Ops("Eig", {g.input(0)}, {{"compute_v", true}, {"Tout", g.output_dtype(0)}},
                        2)[1];
    inner = m.Diagonal(g.grad(0));
  }
  const Expr whole = m.Solve(v, m.Product(inner, v, false, true), /*adjoint=*/true);
  g.Add(0, IsComplex(g.input_dtype(0)) ? whole : RealPart(whole));
}

}  // namespace

void RegisterEig(OpRegistry& ops) {
  ops.Add({
      .schema = "Eig(input: T) -> e: Tout, v: Tout {compute_v: bool = true; T: {float, double, "
                "complex64, complex128}; Tout: {complex64, complex128}}",
      .doc = "The eigenvalues of square matrices, and their eigenvectors, in columns.",
      .shape = EigenShape,
      .gradient = {EigGradient},
      .batch = {EigenBatch},
      .kernel = ForTypes<EigKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre
