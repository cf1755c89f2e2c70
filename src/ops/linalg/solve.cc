// Inverses, solutions of systems of linear equations, and LU decompositions.

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/LU>
// clang-format on

namespace gyre {
namespace {

double CubicWork(int64_t n, double factor) { return factor * static_cast<double>(n) * n * n; }

// Whether no pivot is 0 (or NaN). Requirement: n > 0.
template <typename LU>
bool HasPivots(const LU& lu) {
  for (int64_t i = 0; i < lu.matrixLU().rows(); ++i) {
    if (!(std::abs(lu.matrixLU()(i, i)) > 0)) return false;
  }
  return true;
}

struct AdjointAttr {
  explicit AdjointAttr(const Node& node) : adjoint(NodeAttr<bool>(node, "adjoint")) {}
  bool adjoint;
};

template <typename T>
struct InverseKernel {
  static absl::Status Run(KernelContext& ctx, const AdjointAttr& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
    if (out.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      T* to = out.mutable_values<T>().data();
      GYRE_RETURN_IF_ERROR(
          ForEachMatrix(ctx, batch.count, CubicWork(n, 2), [&](int64_t i) -> const char* {
            const auto matrix = MatrixAt(from + i * n * n, n, n);
            Eigen::PartialPivLU<EigenMatrix<T>> lu(n);
            if (attrs.adjoint) {
              lu.compute(matrix.adjoint());
            } else {
              lu.compute(matrix);
            }
            if (!HasPivots(lu)) return "Input is not invertible.";
            MatrixAt(to + i * n * n, n, n) = lu.inverse();
            return nullptr;
          }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

template <typename T>
struct SolveKernel {
  static absl::Status Run(KernelContext& ctx, const AdjointAttr& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch matrices, SquareMatricesOf(ctx, 0, "matrix"));
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 1, "rhs"));
    const int64_t n = matrices.rows, k = rhs.columns;
    const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(a, 2, {n, k}));
    if (shape != b) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input matrix and rhs are incompatible: their shapes are ", a.ToString(),
                       " and ", b.ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      const T* right = ctx.input(1).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = CubicWork(n, 0.7) + 2.0 * static_cast<double>(n) * n * k;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, matrices.count, work, [&](int64_t i) -> const char* {
        const auto matrix = MatrixAt(from + i * n * n, n, n);
        Eigen::PartialPivLU<EigenMatrix<T>> lu(n);
        if (attrs.adjoint) {
          lu.compute(matrix.adjoint());
        } else {
          lu.compute(matrix);
        }
        if (!HasPivots(lu)) return "Input matrix is not invertible.";
        MatrixAt(to + i * n * k, n, k) = lu.solve(MatrixAt(right + i * n * k, n, k));
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

template <typename T>
struct LuKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(Tensor factors, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(ctx.input(0).shape(), 2, {n}));
    GYRE_ASSIGN_OR_RETURN(Tensor order, ctx.Allocate(ctx.output_dtype(1), shape));
    const bool is_wide = order.dtype() == DType::kInt64;
    if (factors.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      T* to = factors.mutable_values<T>().data();
      GYRE_RETURN_IF_ERROR(
          ForEachMatrix(ctx, batch.count, CubicWork(n, 0.7), [&](int64_t i) -> const char* {
            const Eigen::PartialPivLU<EigenMatrix<T>> lu(MatrixAt(from + i * n * n, n, n));
            if (!HasPivots(lu)) return "Input is not invertible.";
            MatrixAt(to + i * n * n, n, n) = lu.matrixLU();
            // Eigen says where each row goes; the result, where each comes from.
            const auto& places = lu.permutationP().indices();
            for (int64_t row = 0; row < n; ++row) {
              const int64_t at = i * n + places(row);
              if (is_wide) {
                order.mutable_values<int64_t>()[at] = row;
              } else {
                order.mutable_values<int32_t>()[at] = static_cast<int32_t>(row);
              }
            }
            return nullptr;
          }));
    }
    ctx.set_output(0, std::move(factors));
    ctx.set_output(1, std::move(order));
    return absl::OkStatus();
  }
};

absl::Status SolveShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::SquareMatrices(c, 0, "matrix"));
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, matrix_shape::Matrices(c, 1, "rhs"));
  if (!a.has_rank()) {
    c.set_output(0, b);
    return absl::OkStatus();
  }
  const int64_t k = b.has_rank() ? b.dim(b.rank() - 1) : -1;
  const PartialShape like = matrix_shape::Like(a, 1, {k});
  absl::StatusOr<PartialShape> both = like.Intersect(b);
  if (!both.ok()) return Annotate(both.status(), "matrix and rhs do not fit together");
  c.set_output(0, *std::move(both));
  return absl::OkStatus();
}

absl::Status LuShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  c.set_output(0, shape);
  if (shape.has_rank()) c.set_output(1, matrix_shape::Like(shape, 1, {}));
  return absl::OkStatus();
}

// Of y = x^-1: -y* grad y*; of y = x^-*: -y grad* y.
void InverseGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const bool adjoint = g.attr<bool>("adjoint", false);
  const Expr y = g.output(0);
  const Expr right = m.Product(g.grad(), y, adjoint, !adjoint);
  g.Add(0, -m.Product(y, right, !adjoint));
}

void SolveGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const bool adjoint = g.attr<bool>("adjoint", false);
  const Expr to_rhs = m.Solve(g.input(0), g.grad(), !adjoint);
  g.Add(1, to_rhs);
  if (!g.wants(0)) return;
  const Expr x = g.output(0);
  g.Add(0, -(adjoint ? m.Product(x, to_rhs, false, true) : m.Product(to_rhs, x, false, true)));
}

// Of P A = L U: A's gradient is P^T L^-* (the strict lower half of L* grad_L + the upper half of
// grad_U U*) U^-*.
void LuGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr factors = g.output(0), grad = g.grad(0);
  const Expr zeros = ZerosLike(m.DiagonalOf(factors));
  const auto strictly_lower = [&](Expr x) { return m.WithDiagonal(m.Lower(x), zeros); };
  const Expr lower = m.WithDiagonal(m.Lower(factors), zeros + 1.0);
  const Expr upper = m.Upper(factors);
  const Expr of_lower = strictly_lower(m.Product(lower, strictly_lower(grad), true));
  const Expr of_upper = m.Upper(m.Product(m.Upper(grad), upper, false, true));
  const Expr left = m.SolveTriangular(lower, of_lower + of_upper, /*lower=*/true, /*adjoint=*/true);
  const Expr permuted = m.OverAdjoint(left, upper);
  // Row p[i] of the gradient is row i of this.
  ExprBuilder& b = g.builder();
  const Expr n = g.op("StridedSlice", {g.input_dims(0), b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                      {{"shrink_axis_mask", int64_t{1}}});
  const DType dtype = g.input_dtype(0);
  const Expr order = g.op("OneHot", {g.output(1), n, b.Scalar(dtype, 1), b.Zero(dtype)});
  g.Add(0, m.Product(order, permuted, true));
}

void AddInverse(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema =
          absl::StrCat(name, "(input: T) -> output: T {adjoint: bool = false; T: ", types, "}"),
      .doc = "The inverses of square matrices, or of their adjoints.",
      .shape = matrix_shape::Square,
      .gradient = {InverseGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<InverseKernel, DecomposedTypes>("T"),
  });
}

void AddSolve(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(
          name, "(matrix: T, rhs: T) -> output: T {adjoint: bool = false; T: ", types, "}"),
      .doc = "x of matrix x = rhs, or of matrix* x = rhs, for square matrices.",
      .shape = SolveShape,
      .gradient = {SolveGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<SolveKernel, DecomposedTypes>("T"),
  });
}

}  // namespace

void RegisterSolve(OpRegistry& ops) {
  AddInverse(ops, "MatrixInverse", kDecomposedTypes);
  AddInverse(ops, "BatchMatrixInverse", "{double, float}");
  AddSolve(ops, "MatrixSolve", kDecomposedTypes);
  AddSolve(ops, "BatchMatrixSolve", "{double, float}");
  ops.Add({
      .schema = absl::StrCat("Lu(input: T) -> lu: T, p: output_idx_type {T: ", kDecomposedTypes,
                             "; output_idx_type: {int32, int64} = int32}"),
      .doc = "The triangular factors of square matrices, packed into one, whose product is "
             "input[p]: the lower one has ones on its diagonal, which are left out.",
      .shape = LuShape,
      .gradient = {LuGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<LuKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre
