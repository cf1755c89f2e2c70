// Determinants, and their signs and logarithms, by LU decomposition.
#include <cmath>

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/LU>
// clang-format on

namespace gyre {
namespace {

// A number as its sign (of absolute value 1, or 0) and the logarithm of its absolute value.
template <typename T>
struct SignedLog {
  T sign;
  RealOf<T> log;
};

template <typename T>
SignedLog<T> LogDeterminant(const T* from, int64_t n) {
  using Real = RealOf<T>;
  if (n == 0) return {T(1), Real(0)};
  const Eigen::PartialPivLU<EigenMatrix<T>> lu(MatrixAt(from, n, n));
  SignedLog<T> result = {T(static_cast<Real>(lu.permutationP().determinant())), Real(0)};
  for (int64_t i = 0; i < n; ++i) {
    const T pivot = lu.matrixLU()(i, i);
    const Real size = std::abs(pivot);
    result.log += std::log(size);
    result.sign *= pivot / size;
  }
  if (std::isinf(result.log)) {
    result.sign = T(0);
    const Real infinity = std::numeric_limits<Real>::infinity();
    result.log = result.log > 0 ? infinity : -infinity;
  }
  return result;
}

double Work(int64_t n) { return 2.0 / 3 * static_cast<double>(n) * n * n + 10; }

template <typename T>
struct DeterminantKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(ctx.input(0).shape(), 2, {}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    const T* from = ctx.input(0).values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, Work(n), [&](int64_t i) -> const char* {
      const SignedLog<T> found = LogDeterminant(from + i * n * n, n);
      to[i] = found.sign * std::exp(found.log);
      return nullptr;
    }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

template <typename T>
struct LogDeterminantKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
    const int64_t n = batch.rows;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(ctx.input(0).shape(), 2, {}));
    GYRE_ASSIGN_OR_RETURN(Tensor signs, ctx.Allocate(DTypeOf<T>, shape));
    GYRE_ASSIGN_OR_RETURN(Tensor logs, ctx.Allocate(DTypeOf<T>, shape));
    const T* from = ctx.input(0).values<T>().data();
    T* sign = signs.mutable_values<T>().data();
    T* log = logs.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, Work(n), [&](int64_t i) -> const char* {
      const SignedLog<T> found = LogDeterminant(from + i * n * n, n);
      sign[i] = found.sign;
      log[i] = T(found.log);
      return nullptr;
    }));
    ctx.set_output(0, std::move(signs));
    ctx.set_output(1, std::move(logs));
    return absl::OkStatus();
  }
};

absl::Status DeterminantShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  if (!shape.has_rank()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, matrix_shape::Like(shape, 2, {}));
  return absl::OkStatus();
}

// input^-* times a number for each matrix.
void AddInverseTimes(GradientContext& g, Expr numbers) {
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr inverse = g.op("MatrixInverse", {g.input(0)}, {{"adjoint", true}});
  g.Add(0, m.AsColumn(m.AsColumn(numbers)) * inverse);
}

void DeterminantGradient(GradientContext& g) { AddInverseTimes(g, g.grad() * Conj(g.output(0))); }

// Of real numbers the sign is constant where it has a derivative; of complex ones it turns.
void LogDeterminantGradient(GradientContext& g) {
  const DType dtype = g.input_dtype(0);
  if (!IsComplex(dtype)) {
    if (g.has_grad(1)) AddInverseTimes(g, g.grad(1));
    return;
  }
  const Expr turn = ImagPart(g.grad(0) * Conj(g.output(0)));
  AddInverseTimes(g, MakeComplex(RealPart(g.grad(1)), turn));
}

void AddDeterminant(OpRegistry& ops, absl::string_view name, absl::string_view types,
                    std::vector<absl::string_view> api) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: T) -> output: T {T: ", types, "}"),
      .doc = "The determinants of square matrices.",
      .api = std::move(api),
      .shape = DeterminantShape,
      .gradient = {DeterminantGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<DeterminantKernel, DecomposedTypes>("T"),
  });
}

}  // namespace

void RegisterDeterminant(OpRegistry& ops) {
  constexpr absl::string_view kTypes = "{half, float, double, complex64, complex128}";
  AddDeterminant(ops, "MatrixDeterminant", kTypes, {"linalg.det", "compat.v1.matrix_determinant"});
  AddDeterminant(ops, "BatchMatrixDeterminant", "{float, double, complex64, complex128}", {});
  ops.Add({
      .schema = absl::StrCat(
          "LogMatrixDeterminant(input: T) -> sign: T, log_abs_determinant: T {T: ", kTypes, "}"),
      .doc = "The signs of the determinants of square matrices, and the logarithms of their "
             "absolute values.",
      .shape = DeterminantShape,
      .gradient = {LogDeterminantGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<LogDeterminantKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre
