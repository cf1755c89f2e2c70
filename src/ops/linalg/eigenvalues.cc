// Eigenvalues and eigenvectors of self-adjoint matrices, and of any square ones.
#include <eigen3/Eigen/Eigenvalues>

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"

namespace gyre {
namespace {

struct VectorsAttr {
  explicit VectorsAttr(const Node& node) : vectors(NodeAttr<bool>(node, "compute_v")) {}
  bool vectors;
};

// Both ops: Solver decomposes matrices of T; eigenvalues and vectors are R.
template <typename T, typename R, typename Solve>
absl::Status RunSolver(KernelContext& ctx, bool vectors, const Solve& solve) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
  const int64_t n = batch.rows;
  const Shape& shape = ctx.input(0).shape();
  GYRE_ASSIGN_OR_RETURN(const Shape e_shape, ShapeLike(shape, 2, {n}));
  GYRE_ASSIGN_OR_RETURN(Tensor e, ctx.Allocate(DTypeOf<R>, e_shape));
  GYRE_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(DTypeOf<R>, vectors ? shape : Shape::Vector(0)));
  if (e.num_elements() > 0) {
    const T* from = ctx.input(0).values<T>().data();
    R* values = e.mutable_values<R>().data();
    R* to = vectors ? v.mutable_values<R>().data() : nullptr;
    const double work = 10.0 * static_cast<double>(n) * n * n;
    GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
      return solve(MatrixAt(from + i * n * n, n, n), values + i * n,
                   vectors ? to + i * n * n : nullptr);
    }));
  }
  ctx.set_output(0, std::move(e));
  ctx.set_output(1, std::move(v));
  return absl::OkStatus();
}

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

template <typename T>
struct EigKernel {
  using R = std::complex<RealOf<T>>;

  static absl::Status Run(KernelContext& ctx, const VectorsAttr& attrs) {
    if (ctx.output_dtype(0) != DTypeOf<R>) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tout must be ", DTypeName(DTypeOf<R>), " for T = ", DTypeName(DTypeOf<T>),
                       ", but is ", DTypeName(ctx.output_dtype(0))));
    }
    return RunSolver<T, R>(ctx, attrs.vectors, &Solve);
  }

 private:
  static const char* Solve(const Eigen::Map<const EigenMatrix<T>>& matrix, R* values, R* vectors) {
    const char* const failed =
        "Eigen decomposition was not successful. The input might not be valid.";
    if (!matrix.allFinite()) return failed;
    const EigenMatrix<R> complex = matrix.template cast<R>();
    const Eigen::ComplexEigenSolver<EigenMatrix<R>> solver(complex, vectors != nullptr);
    if (solver.info() != Eigen::Success) return failed;
    const int64_t n = matrix.rows();
    VectorAt(values, n) = solver.eigenvalues();
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

absl::Status EigenShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  const bool vectors = VectorsAttr(c.node()).vectors;
  if (shape.has_rank()) c.set_output(0, matrix_shape::Like(shape, 1, {}));
  c.set_output(1, vectors ? shape : PartialShape(Shape::Vector(0)));
  return absl::OkStatus();
}

absl::Status StackedShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  if (!shape.has_rank()) return absl::OkStatus();
  const int64_t n = shape.dim(shape.rank() - 1);
  c.set_output(0, matrix_shape::Like(shape, 2, {n < 0 ? -1 : n + 1, n}));
  return absl::OkStatus();
}

absl::Status EigenBatch(BatchContext& c) {
  if (c.attr<bool>("compute_v", true)) return c.Emit({c.stacked(0)});
  return c.Emit({c.stacked(0)}, {}, {Rows::kStacked, Rows::kSame});
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

// Boeddeker et al., On the computation of complex-valued gradients with application to statistically
// optimum beamforming (2017); vectors have length 1.
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
    v = g.builder().Ops("Eig", {g.input(0)},
                        {{"compute_v", true}, {"Tout", g.output_dtype(0)}}, 2)[1];
    inner = m.Diagonal(g.grad(0));
  }
  const Expr whole = m.Solve(v, m.Product(inner, v, false, true), /*adjoint=*/true);
  g.Add(0, IsComplex(g.input_dtype(0)) ? whole : RealPart(whole));
}

void AddSelfAdjoint(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T) -> e: T, v: T {compute_v: bool = true; T: ", types,
                             "}"),
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

void RegisterEigenvalues(OpRegistry& ops) {
  AddSelfAdjoint(ops, "SelfAdjointEigV2", kDecomposedTypes);
  AddSelfAdjoint(ops, "BatchSelfAdjointEigV2", "{double, float}");
  AddStacked(ops, "SelfAdjointEig", "{double, float, half}");
  AddStacked(ops, "BatchSelfAdjointEig", "{double, float}");
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
