// Eigenvalues and eigenvectors of self-adjoint matrices.

#include "ir/gradient_context.h"
#include "ops/linalg/eigen_solver.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Eigenvalues>
// clang-format on

namespace gyre {
namespace {

template <typename T>
struct SelfAdjointKernel {
  static absl::Status Run(KernelContext& ctx, const VectorsAttr& attrs) {
    return RunSolver<T, T>(ctx, attrs.vectors, &Solve);
  }

 private:
  static const char* Solve(const Eigen::Map<const EigenMatrix<T>>& matrix, T* values, T* vectors) {
    const Eigen::SelfAdjointEigenSolver<EigenMatrix<T>> solver(
        matrix, vectors == nullptr ? Eigen::EigenvaluesOnly : Eigen::ComputeEigenvectors);
    if (solver.info() != Eigen::Success) {
      return "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
    }
    const int64_t n = matrix.rows();
    VectorAt(values, n) = solver.eigenvalues().template cast<T>();
    if (vectors != nullptr) MatrixAt(vectors, n, n) = solver.eigenvectors();
    return nullptr;
  }
};

// Eigenvalues above their vectors: the form of an old op.
template <typename T>
struct StackedKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(ctx.input(0).shape(), 2, {n + 1, n}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = 10.0 * static_cast<double>(n) * n * n;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
        const Eigen::SelfAdjointEigenSolver<EigenMatrix<T>> solver(
            MatrixAt(from + i * n * n, n, n));
        if (solver.info() != Eigen::Success) {
          return "Self Adjoint Eigen decomposition was not successful. The input might not be "
                 "valid.";
        }
        T* own = to + i * n * (n + 1);
        VectorAt(own, n) = solver.eigenvalues();
        MatrixAt(own + n, n, n) = solver.eigenvectors();
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status StackedShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  if (!shape.has_rank()) return absl::OkStatus();
  const int64_t n = shape.dim(shape.rank() - 1);
  c.set_output(0, matrix_shape::Like(shape, 2, {n < 0 ? -1 : n + 1, n}));
  return absl::OkStatus();
}

// Infinite in theory where eigenvalues are equal. The lower half alone is read, and has a gradient.
void SelfAdjointGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  Expr whole;
  if (VectorsAttr(g.node()).vectors) {
    const Expr v = g.output(1);
    Expr inner = m.Diagonal(g.grad(0));
    if (g.has_grad(1)) {
      const Expr turned = m.Product(v, g.grad(1), true);
      inner = inner + m.ReciprocalDifferences(g.output(0)) * turned;
    }
    whole = m.Product(v, m.Product(inner, v, false, true));
  } else {
    const std::vector<Expr> parts =
        g.builder().Ops("SelfAdjointEigV2", {g.input(0)}, {{"compute_v", true}}, 2);
    whole = m.Product(parts[1] * m.AsRow(g.grad(0)), parts[1], false, true);
  }
  const Expr both = m.Lower(whole + m.Adjoint(whole));
  g.Add(0, m.WithDiagonal(both, 0.5 * m.DiagonalOf(both)));
}

void AddSelfAdjoint(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema =
          absl::StrCat(name, "(input: T) -> e: T, v: T {compute_v: bool = true; T: ", types, "}"),
      .doc = "The eigenvalues of self-adjoint matrices in rising order, and their eigenvectors, in "
             "columns; the lower halves are read.",
      .shape = EigenShape,
      .gradient = {SelfAdjointGradient},
      .batch = {EigenBatch},
      .kernel = ForTypes<SelfAdjointKernel, DecomposedTypes>("T"),
  });
}

void AddStacked(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T) -> output: T {T: ", types, "}"),
      .doc = "The eigenvalues of self-adjoint matrices, in a row above their eigenvectors.",
      .shape = StackedShape,
      .gradient = RefusesGradient("SelfAdjointEigV2 has one"),
      .batch = {batch::Stacked},
      .kernel = ForTypes<StackedKernel, Types<float, double>>("T"),
  });
}

}  // namespace

void RegisterSelfAdjointEig(OpRegistry& ops) {
  AddSelfAdjoint(ops, "SelfAdjointEigV2", kDecomposedTypes);
  AddSelfAdjoint(ops, "BatchSelfAdjointEigV2", "{double, float}");
  AddStacked(ops, "SelfAdjointEig", "{double, float, half}");
  AddStacked(ops, "BatchSelfAdjointEig", "{double, float}");
}

}  // namespace gyre
