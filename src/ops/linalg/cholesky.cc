// Cholesky's decomposition of positive definite matrices.
#include <algorithm>

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Cholesky>
// clang-format on

namespace gyre {
namespace {

template <typename T>
struct CholeskyKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
    if (out.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      T* to = out.mutable_values<T>().data();
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, Work(n), [&](int64_t i) {
        return Decompose(from + i * n * n, n, to + i * n * n);
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  static double Work(int64_t n) { return static_cast<double>(n) * n * n / 3; }

  static const char* Decompose(const T* from, int64_t n, T* to) {
    auto lower = MatrixAt(to, n, n);
    lower = MatrixAt(from, n, n);
    const Eigen::LLT<Eigen::Ref<EigenMatrix<T>>, Eigen::Lower> in_place(lower);
    if (in_place.info() != Eigen::Success) {
      return "Cholesky decomposition was not successful. The input might not be valid.";
    }
    lower.template triangularView<Eigen::StrictlyUpper>().setZero();
    return nullptr;
  }
};

// The gradient of A by that of its decomposition L: (S + S*) / 2, where S = L^-* P L^-1 and P is
// the lower half of L* grad with half its diagonal. Murray, Differentiation of the Cholesky
// decomposition (2016), equation 8.
template <typename T>
struct CholeskyGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "l"));
    if (ctx.input(1).shape() != ctx.input(0).shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Inputs to CholeskyGrad must have the same shape, but they have ",
                       ctx.input(0).shape().ToString(), " and ", ctx.input(1).shape().ToString()));
    }
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
    if (out.num_elements() > 0) {
      const T* lower = ctx.input(0).values<T>().data();
      const T* grad = ctx.input(1).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = 4.0 * static_cast<double>(n) * n * n;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
        const int64_t at = i * n * n;
        Differentiate(lower + at, grad + at, n, to + at);
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 64;  // columns or rows

  static void Differentiate(const T* from, const T* grad, int64_t n, T* to) {
    const auto lower = MatrixAt(from, n, n).template triangularView<Eigen::Lower>();
    EigenMatrix<T> s(n, n);
    // By pieces: what works on triangles takes few steps, and long ones.
    const auto for_pieces = [n](const auto& body) {
      for (int64_t begin = 0; begin < n; begin += kPiece) {
        EigenWatch::Step();
        body(begin, std::min(kPiece, n - begin));
      }
    };
    for_pieces([&](int64_t begin, int64_t size) {
      EigenMatrix<T> below = MatrixAt(grad, n, n).middleCols(begin, size);
      below.topRows(begin).setZero();
      below.middleRows(begin, size).template triangularView<Eigen::StrictlyUpper>().setZero();
      s.middleCols(begin, size) = lower.adjoint() * below;
    });
    s.template triangularView<Eigen::StrictlyUpper>().setZero();
    s.diagonal() *= T(0.5);
    for_pieces([&](int64_t begin, int64_t size) {
      lower.adjoint().solveInPlace(s.middleCols(begin, size));
    });
    for_pieces([&](int64_t begin, int64_t size) {
      lower.template solveInPlace<Eigen::OnTheRight>(s.middleRows(begin, size));
    });
    for_pieces([&](int64_t begin, int64_t size) {
      MatrixAt(to, n, n).middleRows(begin, size) =
          T(0.5) * (s.middleRows(begin, size) + s.middleCols(begin, size).adjoint());
    });
  }
};

void CholeskyGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr lower = g.output(0);
  const Expr product = m.Product(lower, g.grad(), /*adjoint_a=*/true);
  const Expr inner = m.WithDiagonal(m.Lower(product), 0.5 * m.DiagonalOf(product));
  // L^-* inner L^-1.
  const Expr left = m.SolveTriangular(lower, inner, /*lower=*/true, /*adjoint=*/true);
  const Expr whole =
      m.Adjoint(m.SolveTriangular(lower, m.Adjoint(left), /*lower=*/true, /*adjoint=*/true));
  g.Add(0, 0.5 * (whole + m.Adjoint(whole)));
}

absl::Status CholeskyGradShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, matrix_shape::SquareMatrices(c, 0, "l"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void AddCholesky(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T) -> output: T {T: ", types, "}"),
      .doc = "The lower triangular matrices l with l l* = input, of positive definite matrices, of "
             "which the lower halves are read.",
      .shape = matrix_shape::Square,
      .gradient = {CholeskyGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<CholeskyKernel, DecomposedTypes>("T"),
  });
}

void AddCholeskyGrad(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name, "(l: T, grad: T) -> output: T {T: ", types, "}"),
      .doc = "The gradient of a positive definite matrix by that of its Cholesky decomposition l.",
      .shape = CholeskyGradShape,
      .gradient = RefusesGradient("Cholesky's own gradient is made of ops that have one"),
      .batch = {batch::Stacked},
      .kernel = ForTypes<CholeskyGradKernel, Types<float, double>>("T"),
  });
}

}  // namespace

void RegisterCholesky(OpRegistry& ops) {
  AddCholesky(ops, "Cholesky", kDecomposedTypes);
  AddCholesky(ops, "BatchCholesky", "{double, float}");
  AddCholeskyGrad(ops, "CholeskyGrad", "{half, float, double}");
  AddCholeskyGrad(ops, "BatchCholeskyGrad", "{float, double}");
}

}  // namespace gyre
