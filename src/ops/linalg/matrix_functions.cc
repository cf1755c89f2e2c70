// Square roots, logarithms and exponentials of matrices.
#include <cmath>
#include <limits>

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Eigenvalues>
#include <eigen3/Eigen/LU>
#include <eigen3/unsupported/Eigen/MatrixFunctions>
// clang-format on

namespace gyre {
namespace {

// A function of square matrices F::Apply(matrix), of matrices of F::Type<T>, where all elements are
// finite; what is not gives NaN.
template <typename F, typename T>
struct MatrixFunction {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
    if (out.num_elements() > 0) {
      const T* from = ctx.input(0).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = 30.0 * static_cast<double>(n) * n * n;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
        using C = typename F::template Type<T>;
        const EigenMatrix<C> matrix = MatrixAt(from + i * n * n, n, n).template cast<C>();
        auto result = MatrixAt(to + i * n * n, n, n);
        if (matrix.allFinite()) {
          result = F::Apply(matrix).template cast<T>();
        } else {
          result.setConstant(T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
        }
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

struct RootFn {
  template <typename T>
  using Type = std::conditional_t<std::is_same_v<T, float>, double, SolverType<T>>;
  template <typename T>
  static EigenMatrix<T> Apply(const EigenMatrix<T>& x) {
    return x.sqrt();
  }
};

struct ExponentialFn {
  template <typename T>
  using Type = SolverType<T>;
  template <typename T>
  static EigenMatrix<T> Apply(const EigenMatrix<T>& x) {
    return x.exp();
  }
};

// The root of an upper triangular matrix, column by column: Björck and Hammarling, A Schur method
// for the square root of a matrix (1983).
template <typename T>
EigenMatrix<T> RootOfTriangle(const EigenMatrix<T>& x) {
  const int64_t n = x.rows();
  EigenMatrix<T> root = EigenMatrix<T>::Zero(n, n);
  for (int64_t i = 0; i < n; ++i) root(i, i) = std::sqrt(x(i, i));
  for (int64_t j = 1; j < n; ++j) {
    for (int64_t i = j - 1; i >= 0; --i) {
      EigenWatch::Step();
      T known = T(0);
      for (int64_t k = i + 1; k < j; ++k) known += root(i, k) * root(k, j);
      root(i, j) = (x(i, j) - known) / (root(i, i) + root(j, j));
    }
  }
  return root;
}

// Inverse scaling and squaring: roots of a triangular form until it is close to the identity, where
// log(1 + x) is the integral of x / (1 + t x), which Gauss and Legendre's rule of 16 points gives
// to the last bit. Higham, Functions of Matrices (2008), chapter 11.
struct LogarithmFn {
  template <typename T>
  using Type = SolverType<T>;
  static constexpr int kMostRoots = 120;
  static constexpr double kPoints[8] = {
      0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
      0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326};
  static constexpr double kWeights[8] = {
      0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
      0.1246289712555338721, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949};

  template <typename T>
  static EigenMatrix<T> Apply(const EigenMatrix<T>& x) {
    using Real = RealOf<T>;
    const int64_t n = x.rows();
    EigenMatrix<T> turn = EigenMatrix<T>::Identity(n, n), triangle = x;
    if (!x.isUpperTriangular(Real(0))) {
      const Eigen::ComplexSchur<EigenMatrix<T>> schur(x);
      turn = schur.matrixU();
      triangle = schur.matrixT();
    }
    EigenVector<T> diagonal = triangle.diagonal();
    const EigenMatrix<T> identity = EigenMatrix<T>::Identity(n, n);
    Real scale = 1;
    EigenMatrix<T> rest = triangle - identity;
    for (int roots = 0; roots < kMostRoots; ++roots) {
      if (!(rest.cwiseAbs().colwise().sum().maxCoeff() > Real(0.5))) break;
      triangle = RootOfTriangle(triangle);
      rest = triangle - identity;
      scale *= 2;
    }
    EigenMatrix<T> sum = EigenMatrix<T>::Zero(n, n);
    for (int i = 0; i < 16; ++i) {
      const Real point = static_cast<Real>(0.5 + (i % 2 == 0 ? 0.5 : -0.5) * kPoints[i / 2]);
      const EigenMatrix<T> divisor = identity + T(point) * rest;
      sum += T(static_cast<Real>(kWeights[i / 2] / 2)) *
             divisor.template triangularView<Eigen::Upper>().solve(rest);
    }
    sum *= T(scale);
    for (int64_t i = 0; i < n; ++i) sum(i, i) = std::log(diagonal(i));
    return turn * sum * turn.adjoint();
  }
};

template <typename T>
using RootKernel = MatrixFunction<RootFn, T>;
template <typename T>
using ExponentialKernel = MatrixFunction<ExponentialFn, T>;
template <typename T>
using LogarithmKernel = MatrixFunction<LogarithmFn, T>;

// Of y with y y = x: the solution z of y* z + z y* = grad, a system of n² equations.
void RootGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr y = g.output(0), dims = g.output_dims(0);
  const auto part = [&](int32_t begin, int32_t end) {
    return g.op("StridedSlice", {dims, b.Ints({begin}), b.Ints({end}), b.Ints({1})},
                {{"begin_mask", int64_t{begin == 0 ? 1 : 0}}});
  };
  const Expr leading = part(0, -2), n = part(-2, -1), one = b.Ints({1});
  const auto shape = [&](const std::vector<Expr>& sizes) {
    std::vector<Expr> parts = {leading};
    parts.insert(parts.end(), sizes.begin(), sizes.end());
    parts.push_back(b.Int(0));
    return g.op("ConcatV2", parts);
  };
  const Expr adjoint = m.Adjoint(y);
  const Expr identity = m.WithDiagonal(ZerosLike(y), OnesLike(m.DiagonalOf(y)));
  const Expr columns = shape({n, one, n, one}), rows = shape({one, n, one, n});
  // (y* z)_ij = Σ y*_ik z_kj and (z y*)_ij = Σ z_ik conj(y)_jk.
  const Expr left = Reshape(adjoint, columns) * Reshape(identity, rows);
  const Expr right = Reshape(identity, columns) * Reshape(Conj(y), rows);
  const Expr size = n * n;
  const Expr system = Reshape(left + right, shape({size, size}));
  const Expr solved = m.Solve(system, Reshape(g.grad(), shape({size, one})));
  g.Add(0, Reshape(solved, dims));
}

void AddMatrixFunction(OpRegistry& ops, absl::string_view name, absl::string_view types,
                       std::vector<absl::string_view> api, absl::string_view doc, Gradient gradient,
                       KernelFactory kernel) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T) -> output: T {T: ", types, "}"),
      .doc = doc,
      .api = std::move(api),
      .shape = matrix_shape::Square,
      .gradient = std::move(gradient),
      .batch = {batch::Stacked},
      .kernel = std::move(kernel),
  });
}

}  // namespace

void RegisterMatrixRoot(OpRegistry& ops) {
  AddMatrixFunction(ops, "MatrixSquareRoot", kDecomposedTypes,
                    {"linalg.sqrtm", "compat.v1.matrix_square_root"},
                    "The matrices whose squares are the input.", {RootGradient},
                    ForTypes<RootKernel, DecomposedTypes>("T"));
  AddMatrixFunction(ops, "MatrixLogarithm", "{complex64, complex128}", {"linalg.logm"},
                    "The principal logarithms of square matrices.",
                    RefusesGradient("there is no rule for the logarithm of a matrix"),
                    ForTypes<LogarithmKernel, ComplexTypes>("T"));
  AddMatrixFunction(ops, "MatrixExponential", kDecomposedTypes, {},
                    "The exponentials of square matrices.",
                    RefusesGradient("linalg.expm, which is made of other ops, has one"),
                    ForTypes<ExponentialKernel, DecomposedTypes>("T"));
}

}  // namespace gyre
