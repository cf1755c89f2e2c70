// Decompositions of matrices and solutions of equations: their factors multiply to what they came
// from, and what has none is an error.
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

template <typename T>
Tensor Random(std::vector<int64_t> dims, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const Shape shape = ShapeOf(std::move(dims));
  std::vector<T> values(shape.num_elements());
  for (T& v : values) {
    if constexpr (std::is_floating_point_v<T>) {
      v = static_cast<T>(normal(random));
    } else {
      using R = typename T::value_type;
      const auto re = static_cast<R>(normal(random));
      v = T(re, static_cast<R>(normal(random)));
    }
  }
  return Tensor::FromValues<T>(values, shape);
}

Tensor Product(const Tensor& a, const Tensor& b, bool adj_a = false, bool adj_b = false) {
  return Eval("BatchMatMulV2", {a, b}, Attrs({{"adj_x", adj_a}, {"adj_y", adj_b}}));
}

// x x* + 1, positive definite.
template <typename T>
Tensor Positive(std::vector<int64_t> dims) {
  const Tensor x = Random<T>(std::move(dims));
  const int64_t n = x.dim(x.rank() - 1);
  const Tensor ones = Eval("OnesLike", {Eval("MatrixDiagPart", {x})});
  (void)n;
  return Eval("AddV2", {Product(x, x, false, true), Eval("MatrixDiag", {ones})});
}

template <typename T>
void ExpectClose(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.shape(), want.shape());
  const double tolerance = sizeof(decltype(std::abs(T()))) == 4 ? 2e-4 : 1e-11;
  const auto g = Values<T>(got), w = Values<T>(want);
  for (size_t i = 0; i < g.size(); ++i)
    ASSERT_LE(std::abs(g[i] - w[i]), tolerance * (1 + std::abs(w[i]))) << i;
}

template <typename T>
Tensor Diagonal(const Tensor& vectors) {
  return Eval("MatrixDiag", {vectors});
}

std::vector<Tensor> EvalAll(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  auto outputs = EvaluateOp(op, std::move(inputs), std::move(attrs));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>(3);
}

template <typename T>
class Decompositions : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, complex64, complex128>;
TYPED_TEST_SUITE(Decompositions, Numbers);

TYPED_TEST(Decompositions, FactorsMultiply) {
  using T = TypeParam;
  const Tensor spd = Positive<T>({2, 5, 5});
  const Tensor lower = Eval("Cholesky", {spd});
  ExpectClose<T>(Product(lower, lower, false, true), spd);
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 4, 3}, {3, 5}, {20, 17}}) {
    const Tensor x = Random<T>(dims);
    for (const bool full : {false, true}) {
      const auto qr = EvalAll("Qr", {x}, Attrs({{"full_matrices", full}}));
      ExpectClose<T>(Product(qr[0], qr[1]), x);
      const auto svd = EvalAll("Svd", {x}, Attrs({{"full_matrices", full}}));
      if (!full)
        ExpectClose<T>(Product(Product(svd[1], Diagonal<T>(svd[0])), svd[2], false, true), x);
      const auto values = EvalAll("Svd", {x}, Attrs({{"compute_uv", false}}));
      ExpectClose<T>(values[0], svd[0]);
      EXPECT_EQ(values[1].shape(), ShapeOf({0}));
    }
  }
  const auto eigh = EvalAll("SelfAdjointEigV2", {spd});
  ExpectClose<T>(Product(Product(eigh[1], Diagonal<T>(eigh[0])), eigh[1], false, true), spd);
}

TYPED_TEST(Decompositions, EquationsHold) {
  using T = TypeParam;
  const Tensor a = Positive<T>({2, 4, 4}), b = Random<T>({2, 4, 3}, 2);
  for (const bool adjoint : {false, true}) {
    const AttrMap attrs = Attrs({{"adjoint", adjoint}});
    ExpectClose<T>(Product(a, Eval("MatrixSolve", {a, b}, attrs), adjoint), b);
    const Tensor inverse = Eval("MatrixInverse", {a}, attrs);
    ExpectClose<T>(Product(a, Product(inverse, b), adjoint), b);
    for (const bool lower : {false, true}) {
      const Tensor half = Eval("MatrixBandPart", {a, Tensor::Scalar<int64_t>(lower ? -1 : 0),
                                                  Tensor::Scalar<int64_t>(lower ? 0 : -1)});
      const Tensor x =
          Eval("MatrixTriangularSolve", {a, b}, Attrs({{"lower", lower}, {"adjoint", adjoint}}));
      ExpectClose<T>(Product(half, x, adjoint), b);
    }
  }
  const auto lu = EvalAll("Lu", {a});
  EXPECT_EQ(lu[1].shape(), ShapeOf({2, 4}));
  for (const bool fast : {false, true}) {
    const Tensor tall = Random<T>({6, 3}), rhs = Random<T>({6, 2}, 3);
    const Tensor x =
        Eval("MatrixSolveLs", {tall, rhs, Tensor::Scalar<double>(0)}, Attrs({{"fast", fast}}));
    // The rest is orthogonal to what the columns span.
    const Tensor rest = Eval("Sub", {rhs, Product(tall, x)});
    ExpectClose<T>(Product(tall, rest, true), Eval("ZerosLike", {x}));
  }
}

TYPED_TEST(Decompositions, FunctionsOfMatrices) {
  using T = TypeParam;
  const Tensor a = Positive<T>({2, 4, 4});
  const Tensor root = Eval("MatrixSquareRoot", {a});
  ExpectClose<T>(Product(root, root), a);
  if constexpr (!std::is_floating_point_v<T>) {
    ExpectClose<T>(Eval("MatrixExponential", {Eval("MatrixLogarithm", {a})}), a);
  }
}

TEST(Decomposition, BatchesOfTriangularSystemsBroadcast) {
  const Tensor a = Tensor::FromValues<double>(std::vector<double>{2, 0, 1, 4}, ShapeOf({2, 2}));
  const Tensor b =
      Tensor::FromValues<double>(std::vector<double>{2, 9, 4, 6}, ShapeOf({2, 1, 2, 1}));
  const Tensor x = Eval("MatrixTriangularSolve", {a, b});
  EXPECT_EQ(x.shape(), ShapeOf({2, 1, 2, 1}));
  EXPECT_THAT(Values<double>(x), ElementsAre(1, 2, 2, 1));
}

TEST(Decomposition, Determinants) {
  const Tensor x = Tensor::FromValues<double>(
      std::vector<double>{1, 2, 3, 4, 0, 1, 1, 0, 1, 2, 2, 4}, ShapeOf({3, 2, 2}));
  EXPECT_THAT(Values<double>(Eval("MatrixDeterminant", {x})),
              Pointwise(DoubleNear(1e-14), {-2.0, -1.0, 0.0}));
  const auto parts = EvalAll("LogMatrixDeterminant", {x});
  EXPECT_THAT(Values<double>(parts[0]), ElementsAre(-1, -1, 0));
  EXPECT_NEAR(Values<double>(parts[1])[0], std::log(2), 1e-14);
  EXPECT_EQ(Values<double>(parts[1])[2], -std::numeric_limits<double>::infinity());
  EXPECT_THAT(Values<double>(
                  Eval("MatrixDeterminant", {Tensor::FromValues<double>({}, ShapeOf({2, 0, 0}))})),
              ElementsAre(1, 1));
}

TEST(Decomposition, EigenvaluesOfRotations) {
  const Tensor x = Tensor::FromValues<float>(std::vector<float>{0, -1, 1, 0}, ShapeOf({2, 2}));
  const auto eig = EvalAll("Eig", {x}, Attrs({{"Tout", DType::kComplex64}}));
  const auto e = Values<complex64>(eig[0]);
  EXPECT_NEAR(std::abs(e[0].imag()), 1, 1e-6);
  EXPECT_NEAR(std::abs(e[0] + e[1]), 0, 1e-6);
}

TEST(Decomposition, TridiagonalSystems) {
  const Tensor diagonals = Tensor::FromValues<double>(
      std::vector<double>{2, 1, 0, 1e-300, 3, 1, 0, 1, 2}, ShapeOf({3, 3}));
  const Tensor x = Tensor::FromValues<double>(std::vector<double>{1, 2, 3}, ShapeOf({3, 1}));
  const auto row = [&](int i) {
    return Eval("GatherV2", {diagonals, Tensor::Vector<int32_t>({i}), Tensor::Scalar<int32_t>(0)});
  };
  const Tensor product = Eval("TridiagonalMatMul", {row(0), row(1), row(2), x});
  EXPECT_THAT(Values<double>(product), ElementsAre(4, 10, 7));
  EXPECT_THAT(Values<double>(Eval("TridiagonalSolve", {diagonals, product})),
              Pointwise(DoubleNear(1e-13), {1.0, 2.0, 3.0}));
  const Tensor zero = Tensor::FromValues<double>(std::vector<double>(9, 0), ShapeOf({3, 3}));
  EXPECT_THAT(Message(EvalError("TridiagonalSolve", {zero, x})), HasSubstr("not invertible"));
  EXPECT_THAT(
      Message(EvalError("TridiagonalSolve", {zero, x}, Attrs({{"partial_pivoting", false}}))),
      HasSubstr("requires pivoting"));
}

TEST(Decomposition, Diagonals) {
  // As in TensorFlow's documentation of MatrixDiagPartV3.
  const Tensor x = Tensor::FromValues<int32_t>(
      std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6}, ShapeOf({3, 4}));
  const auto part = [&](std::vector<int32_t> k, const std::string& align) {
    return Values<int32_t>(
        Eval("MatrixDiagPartV3",
             {x, Tensor::FromValues<int32_t>(k, ShapeOf({static_cast<int64_t>(k.size())})),
              Tensor::Scalar<int32_t>(-1)},
             Attrs({{"align", align}})));
  };
  EXPECT_THAT(part({0}, "RIGHT_LEFT"), ElementsAre(1, 6, 7));
  EXPECT_THAT(part({1}, "RIGHT_LEFT"), ElementsAre(2, 7, 6));
  EXPECT_THAT(part({0, 2}, "RIGHT_LEFT"), ElementsAre(-1, 3, 8, 2, 7, 6, 1, 6, 7));
  EXPECT_THAT(part({-1, 1}, "LEFT_RIGHT"), ElementsAre(2, 7, 6, 1, 6, 7, -1, 5, 8));
  const Tensor set =
      Eval("MatrixSetDiagV3", {x, Tensor::Vector<int32_t>({-5, -6}), Tensor::Scalar<int32_t>(-1)});
  EXPECT_THAT(Values<int32_t>(set), ElementsAre(1, 2, 3, 4, -5, 6, 7, 8, 9, -6, 7, 6));
  EXPECT_THAT(Values<int32_t>(Eval("DiagPart", {Eval("Diag", {x})})), Values<int32_t>(x));
  EXPECT_THAT(Message(EvalError("MatrixDiagPartV3",
                                {x, Tensor::Scalar<int32_t>(4), Tensor::Scalar<int32_t>(0)})),
              HasSubstr("out of bound"));
}

// Neither a crash nor an endless loop.
TEST(Decomposition, WhatHasNoneSaysSo) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor singular = Tensor::FromValues<double>(std::vector<double>(9, 1), ShapeOf({3, 3}));
  EXPECT_THAT(Message(EvalError("Cholesky", {Eval("Neg", {singular})})),
              HasSubstr("not successful"));
  EXPECT_THAT(Message(EvalError("MatrixInverse", {singular})),
              HasSubstr("Input is not invertible."));
  EXPECT_THAT(Message(EvalError("MatrixSolve", {singular, singular})), HasSubstr("not invertible"));
  EXPECT_THAT(Message(EvalError("Lu", {singular})), HasSubstr("not invertible"));
  EXPECT_FALSE(
      EvaluateOp("MatrixInverse", {Tensor::FromValues<double>({1, 2}, ShapeOf({1, 2}))}, {}).ok());
  for (const double bad : {nan, infinity, 1e308, 5e-324}) {
    for (const int64_t n : {1, 3, 40}) {
      std::vector<double> values(n * n, bad);
      for (int64_t i = 0; i < n; i += 2) values[i] = 1;
      const Tensor x = Tensor::FromValues<double>(values, ShapeOf({n, n}));
      for (const absl::string_view op :
           {"Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu", "Qr",
            "Svd", "SelfAdjointEigV2", "MatrixSquareRoot", "MatrixExponential"}) {
        (void)EvaluateOp(op, {x}, {});
      }
      (void)EvaluateOp("Eig", {x}, Attrs({{"Tout", DType::kComplex128}}));
      const Tensor complex = Eval("Cast", {x}, Attrs({{"DstT", DType::kComplex128}}));
      (void)EvaluateOp("MatrixLogarithm", {complex}, {});
      (void)EvaluateOp("Svd", {complex}, {});
      (void)EvaluateOp("MatrixSolveLs", {x, x, Tensor::Scalar<double>(0)},
                       Attrs({{"fast", false}}));
    }
  }
  // Nilpotent: repeated roots of it never come near 1.
  std::vector<complex128> nilpotent(16);
  nilpotent[1] = nilpotent[6] = nilpotent[11] = 1;
  EXPECT_TRUE(EvaluateOp("MatrixLogarithm",
                         {Tensor::FromValues<complex128>(nilpotent, ShapeOf({4, 4}))}, {})
                  .ok());
}

TEST(Decomposition, EmptyMatrices) {
  const Tensor x = Tensor::FromValues<double>({}, ShapeOf({2, 0, 3}));
  const auto svd = EvalAll("Svd", {x}, Attrs({{"full_matrices", true}}));
  EXPECT_EQ(svd[0].shape(), ShapeOf({2, 0}));
  EXPECT_THAT(Values<double>(svd[2]),
              ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1));
  const auto qr = EvalAll("Qr", {x}, Attrs({{"full_matrices", true}}));
  EXPECT_EQ(qr[1].shape(), ShapeOf({2, 0, 3}));
  const Tensor square = Tensor::FromValues<double>({}, ShapeOf({2, 0, 0}));
  for (const absl::string_view op : {"Cholesky", "MatrixInverse", "Lu", "SelfAdjointEigV2"})
    EXPECT_EQ(Eval(op, {square}).num_elements(), 0);
}

}  // namespace
}  // namespace gyre::test
