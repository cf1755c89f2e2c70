// Matrix products, einsum and diagonals, against naive loops and TensorFlow 2.21.
#include <cmath>
#include <random>

#include "base/env.h"
#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

template <typename T>
Tensor Random(std::vector<int64_t> dims, uint32_t seed) {
  std::mt19937 random(seed);
  const Shape shape = ShapeOf(std::move(dims));
  std::vector<T> values(shape.num_elements());
  for (T& v : values) v = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return Tensor::FromValues<T>(values, shape);
}

Tensor Iota(std::vector<int64_t> dims, double start = 0) {
  const Shape shape = ShapeOf(std::move(dims));
  std::vector<double> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i);
  return Tensor::FromValues<double>(values, shape);
}

// Small integers, so that every type computes the product exactly.
template <typename T>
std::vector<T> NaiveProduct(const Tensor& a, bool ta, const Tensor& b, bool tb) {
  const int64_t m = a.dim(ta ? 1 : 0), k = a.dim(ta ? 0 : 1), n = b.dim(tb ? 0 : 1);
  std::vector<T> c(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum{};
      for (int64_t p = 0; p < k; ++p) {
        sum +=
            a.values<T>()[ta ? p * m + i : i * k + p] * b.values<T>()[tb ? j * k + p : p * n + j];
      }
      c[i * n + j] = sum;
    }
  }
  return c;
}

template <typename T>
void CheckProducts(const std::vector<std::array<int64_t, 3>>& sizes) {
  for (const auto& [m, n, k] : sizes) {
    for (int t = 0; t < 4; ++t) {
      const bool ta = (t & 1) != 0, tb = (t & 2) != 0;
      const Tensor a = Random<T>(ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k}, 1);
      const Tensor b = Random<T>(tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2);
      const AttrMap attrs = Attrs({{"transpose_a", ta}, {"transpose_b", tb}});
      ASSERT_EQ(Values<T>(Eval("MatMul", {a, b}, attrs)), NaiveProduct<T>(a, ta, b, tb))
          << m << "x" << n << "x" << k << " " << t;
    }
  }
}

TEST(MatMul, EverySmallSize) {
  std::vector<std::array<int64_t, 3>> sizes;
  for (int64_t m = 1; m <= 14; ++m) {
    for (int64_t n = 1; n <= 35; n += 2) sizes.push_back({m, n, 5});
  }
  CheckProducts<double>(sizes);
  CheckProducts<float>(sizes);
}

TEST(MatMul, FewRowsTimesSomeVectors) {
  std::vector<std::array<int64_t, 3>> sizes;
  for (const int64_t m : {1, 2, 3, 4, 5, 7}) {
    for (const int64_t n : {1, 6, 16, 31, 48, 64, 81, 128, 135}) {
      for (const int64_t k : {1, 16, 33, 64, 100, 260}) sizes.push_back({m, n, k});
    }
  }
  CheckProducts<double>(sizes);
  CheckProducts<float>(sizes);
}

TEST(MatMul, LargeAndLopsidedSizes) {
  const std::vector<std::array<int64_t, 3>> sizes = {
      {100, 300, 260}, {1, 1000, 700}, {1000, 1, 700},  {3, 5, 2000},
      {130, 70, 515},  {64, 64, 65},   {20, 130, 1100}, {33, 700, 300}};
  CheckProducts<double>(sizes);
  CheckProducts<float>(sizes);
}

TEST(MatMul, OtherTypes) {
  const std::vector<std::array<int64_t, 3>> sizes = {{3, 4, 5}, {40, 300, 150}};
  CheckProducts<int32_t>(sizes);
  CheckProducts<int64_t>(sizes);
  CheckProducts<uint32_t>(sizes);
  CheckProducts<complex64>(sizes);
  CheckProducts<complex128>(sizes);
}

TEST(MatMul, SmallIntegersWrapAndSmallFloatsAreComputedAsFloat) {
  const Tensor bytes = Tensor::FromValues<uint8_t>({200, 200}, ShapeOf({1, 2}));
  EXPECT_EQ(Eval("MatMul", {bytes, bytes}, Attrs({{"transpose_b", true}})).values<uint8_t>()[0],
            static_cast<uint8_t>(80000));
  const Tensor halves = Tensor::FromValues<Half>({Half(2048), Half(1), Half(1)}, ShapeOf({1, 3}));
  const Tensor ones = Tensor::FromValues<Half>({Half(1), Half(1), Half(1)}, ShapeOf({3, 1}));
  EXPECT_EQ(static_cast<float>(Eval("MatMul", {halves, ones}).values<Half>()[0]), 2050.0f);
  const Tensor b16 = Tensor::FromValues<BFloat16>({BFloat16(3), BFloat16(4)}, ShapeOf({1, 2}));
  EXPECT_EQ(static_cast<float>(
                Eval("MatMul", {b16, b16}, Attrs({{"transpose_a", true}})).values<BFloat16>()[3]),
            16.0f);
}

// Random<T> gives small integers, which all of these types add without rounding.
template <typename T>
void CheckSums(const std::vector<std::array<int64_t, 3>>& sizes) {
  for (const auto& [m, n, k] : sizes) {
    for (int t = 0; t < 4; ++t) {
      const bool ta = (t & 1) != 0, tb = (t & 2) != 0;
      const Tensor a = Random<T>(ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k}, 1);
      const Tensor b = Random<T>(tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2);
      const Tensor sum = Random<T>({m, n}, 3);
      const AttrMap attrs = Attrs({{"transpose_a", ta}, {"transpose_b", tb}});
      std::vector<T> want = NaiveProduct<T>(a, ta, b, tb);
      for (size_t i = 0; i < want.size(); ++i) want[i] += sum.values<T>()[i];
      ASSERT_EQ(Values<T>(Eval("_MatMulAdd", {a, b, sum}, attrs)), want)
          << m << "x" << n << "x" << k << " " << t;
    }
  }
}

TEST(MatMulAdd, IsTheSumAndTheProduct) {
  CheckSums<float>({{1, 1, 1}, {3, 4, 5}, {0, 3, 2}, {20, 130, 1100}, {300, 600, 33}, {2, 3, 0}});
  CheckSums<double>({{3, 4, 5}, {40, 90, 300}});
  CheckSums<complex64>({{3, 4, 5}, {40, 90, 130}});
  const Tensor one = Tensor::FromValues<Half>({Half(1)}, ShapeOf({1, 1}));
  const Tensor sum = Tensor::FromValues<Half>({Half(2048)}, ShapeOf({1, 1}));
  EXPECT_EQ(static_cast<float>(Eval("_MatMulAdd", {one, one, sum}).values<Half>()[0]), 2048.0f);
}

TEST(MatMulAdd, LeavesASumThatOthersSeeAsItIs) {
  const Tensor a = Random<float>({2, 3}, 1), b = Random<float>({3, 2}, 2);
  const Tensor sum = Random<float>({2, 2}, 3);
  const std::vector<float> before = Values<float>(sum);
  Eval("_MatMulAdd", {a, b, sum});
  EXPECT_EQ(Values<float>(sum), before);
  EXPECT_THAT(Message(EvalError("_MatMulAdd", {a, b, a})),
              HasSubstr("the product has shape [2,2], but it is added to [2,3]"));
}

TEST(MatMul, EmptySizes) {
  const Tensor a = Tensor::FromValues<float>({}, ShapeOf({2, 0}));
  const Tensor b = Tensor::FromValues<float>({}, ShapeOf({0, 3}));
  EXPECT_EQ(Values<float>(Eval("MatMul", {a, b})), std::vector<float>(6, 0.0f));
  EXPECT_EQ(Eval("MatMul", {b, Random<float>({3, 4}, 1)}).shape(), ShapeOf({0, 4}));
}

TEST(MatMul, BadShapesAreNamed) {
  const Tensor a = Random<float>({2, 3}, 1);
  EXPECT_THAT(Message(EvalError("MatMul", {a, a})), HasSubstr("a is [2,3], b is [2,3]"));
  EXPECT_THAT(Message(EvalError("MatMul", {a, Tensor::Scalar(1.0f)})),
              HasSubstr("must be matrices"));
}

TEST(MatMul, StopsWithinMillisecondsOfItsDeadline) {
  const Tensor a = *Tensor::Zeros(DType::kDouble, ShapeOf({3000, 3000}), {});
  const Node node = *MakeNode(Ops(), "MatMul", {a, a});
  const int64_t start = SystemClock().NowNanos();
  Cancellation cancellation(start + 5'000'000);
  RunEnv env;
  env.cancellation = &cancellation;
  EXPECT_TRUE(absl::IsDeadlineExceeded(EvaluateNode(Ops(), node, {a, a}, env).status()));
}

TEST(BatchMatMul, BroadcastsBatches) {
  const Tensor x = Random<double>({2, 1, 3, 4}, 1);
  const Tensor y = Random<double>({5, 4, 2}, 2);
  const Tensor z = Eval("BatchMatMulV2", {x, y});
  ASSERT_EQ(z.shape(), ShapeOf({2, 5, 3, 2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      const std::vector<double> want =
          NaiveProduct<double>(x.SliceRows(i, 1).Reshaped(ShapeOf({3, 4})), false,
                               y.SliceRows(j, 1).Reshaped(ShapeOf({4, 2})), false);
      const std::vector<double> all = Values<double>(z);
      const auto first = all.begin() + (i * 5 + j) * 6;
      EXPECT_EQ(std::vector<double>(first, first + 6), want);
    }
  }
}

TEST(BatchMatMul, AdjointConjugatesButTransposeDoesNot) {
  const Tensor i = Tensor::FromValues<complex64>({{0, 1}}, ShapeOf({1, 1}));
  const Tensor one = Tensor::FromValues<complex64>({{1, 0}}, ShapeOf({1, 1}));
  EXPECT_EQ(Eval("BatchMatMulV2", {i, one}, Attrs({{"adj_x", true}})).values<complex64>()[0],
            complex64(0, -1));
  EXPECT_EQ(Eval("BatchMatMul", {one, i}, Attrs({{"adj_y", true}})).values<complex64>()[0],
            complex64(0, -1));
  EXPECT_EQ(Eval("MatMul", {i, one}, Attrs({{"transpose_a", true}})).values<complex64>()[0],
            complex64(0, 1));
}

TEST(BatchMatMul, BadShapesAreNamed) {
  EXPECT_THAT(Message(EvalError("BatchMatMulV2",
                                {Random<float>({2, 3, 3}, 1), Random<float>({3, 3, 3}, 1)})),
              HasSubstr("batch dimensions"));
  EXPECT_THAT(
      Message(EvalError("BatchMatMulV2", {Random<float>({3}, 1), Random<float>({3, 3}, 1)})),
      HasSubstr("at least two dimensions"));
}

Tensor RunEinsum(const std::string& equation, std::vector<Tensor> inputs) {
  return Eval("Einsum", std::move(inputs), Attrs({{"equation", equation}}));
}

TEST(Einsum, OfOneInput) {
  const Tensor x = Iota({2, 3});
  EXPECT_EQ(Values<double>(RunEinsum("ij->ji", {x})), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(RunEinsum("ij->", {x}).scalar<double>(), 15);
  EXPECT_EQ(Values<double>(RunEinsum("i1->1", {x})), (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(Values<double>(RunEinsum(" i j -> j ", {x})), (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(Values<double>(RunEinsum("...j->...", {x})), (std::vector<double>{3, 12}));
  EXPECT_EQ(Values<double>(RunEinsum("i...->...i", {x})), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(Einsum, Diagonals) {
  EXPECT_EQ(Values<double>(RunEinsum("ii->i", {Iota({3, 3})})), (std::vector<double>{0, 4, 8}));
  EXPECT_EQ(RunEinsum("ii->", {Iota({3, 3})}).scalar<double>(), 12);
  EXPECT_EQ(Values<double>(RunEinsum("i->ii", {Iota({3})})),
            (std::vector<double>{0, 0, 0, 0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(Values<double>(RunEinsum("ij->jii", {Iota({2, 3})})),
            (std::vector<double>{0, 0, 0, 3, 1, 0, 0, 4, 2, 0, 0, 5}));
}

TEST(Einsum, BroadcastsEllipses) {
  const Tensor x = Iota({1, 2, 3});
  const Tensor y = Iota({4, 3, 2});
  const Tensor z = RunEinsum("...ij,...jk->...ik", {x, y});
  EXPECT_EQ(z.shape(), ShapeOf({4, 2, 2}));
  EXPECT_EQ(Values<double>(z), Values<double>(Eval("BatchMatMulV2", {x, y})));
  EXPECT_EQ(RunEinsum("i->...i", {Iota({3})}).shape(), ShapeOf({3}));
}

// All index combinations, one by one.
std::vector<double> NaiveEinsum(const std::string& equation, const std::vector<Tensor>& inputs) {
  const size_t arrow = equation.find("->");
  std::vector<std::string> operands(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      operands.emplace_back();
    } else {
      operands.back() += c;
    }
  }
  const std::string output = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, index;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; d < operands[i].size(); ++d)
      sizes[operands[i][d]] = inputs[i].dim(static_cast<int>(d));
  }
  const auto offset = [&](const std::string& labels) {
    int64_t at = 0;
    for (const char c : labels) at = at * sizes[c] + index[c];
    return at;
  };
  int64_t n = 1;
  for (const char c : output) n *= sizes[c];
  std::vector<double> result(n, 0.0);
  while (true) {
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i)
      product *= inputs[i].values<double>()[offset(operands[i])];
    result[offset(output)] += product;
    auto it = sizes.begin();
    for (; it != sizes.end() && ++index[it->first] == it->second; ++it) index[it->first] = 0;
    if (it == sizes.end()) return result;
  }
}

TEST(Einsum, EqualsItsDefinition) {
  const std::map<char, int64_t> sizes = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}, {'e', 1}};
  for (const std::string equation :
       {"ab,bc->ac",    "ab,bc->ca",   "ab,cb->ac",    "ba,bc->ac",   "abc,bcd->ad",
        "abc,dcb->da",  "abc,bd->adc", "ab,ab->ab",    "ab,ab->",     "a,b->ab",
        "a,b->ba",      "ab,c->b",     "abc,abd->acd", "abc,adb->dc", "cab,dab->abcd",
        "ab,bc,cd->ad", "ab,a,b->",    "aab,bc->ac",   "ab,bcc->a",   "ae,eb->ab",
        "abcd,dcba->",  "a,a,a->a",    "ab,cd->dbca"}) {
    std::vector<Tensor> inputs;
    std::string operand;
    uint32_t seed = 1;
    const auto finish = [&] {
      std::vector<int64_t> dims;
      for (const char c : operand) dims.push_back(sizes.at(c));
      inputs.push_back(Random<double>(dims, seed++));
      operand.clear();
    };
    for (const char c : equation.substr(0, equation.find("->"))) {
      if (c == ',') {
        finish();
      } else {
        operand += c;
      }
    }
    finish();
    EXPECT_EQ(Values<double>(RunEinsum(equation, inputs)), NaiveEinsum(equation, inputs))
        << equation;
  }
}

TEST(Einsum, EmptyDimensionsSumToZero) {
  const Tensor x = Tensor::FromValues<double>({}, ShapeOf({2, 0}));
  EXPECT_EQ(Values<double>(RunEinsum("ij->i", {x})), (std::vector<double>{0, 0}));
  EXPECT_EQ(Values<double>(RunEinsum("ij,kj->ik", {x, x})), std::vector<double>(4, 0.0));
}

TEST(Einsum, BadEquationsAreExplained) {
  const Tensor x = Iota({2, 3});
  const auto error = [](const std::string& equation, std::vector<Tensor> inputs) {
    return Message(EvalError("Einsum", std::move(inputs), Attrs({{"equation", equation}})));
  };
  EXPECT_THAT(error("ij,jk", {x, x}), HasSubstr("exactly one '->'"));
  EXPECT_THAT(error("ij->ij->ij", {x}), HasSubstr("exactly one '->'"));
  EXPECT_THAT(error("i,->i", {x}), HasSubstr("for 2 inputs, but there are 1"));
  EXPECT_THAT(error("ijk->i", {x}), HasSubstr("input 0 must have rank 3, but has 2"));
  EXPECT_THAT(error("ij,jk->ik", {x, x}),
              HasSubstr("dimensions called 'j' have different sizes: 3 and 2"));
  EXPECT_THAT(error("ij->ik", {x}), HasSubstr("no input has the label 'k'"));
  EXPECT_THAT(error("...i->i", {x}), HasSubstr("no '...'"));
  EXPECT_THAT(error("i..j->ij", {x}), HasSubstr("one '...'"));
  EXPECT_TRUE(absl::IsUnimplemented(EvalError("Einsum", {Tensor::Vector<std::string>({"a"})},
                                              Attrs({{"equation", std::string("i->i")}}))));
}

Tensor Diag(const Tensor& diagonal, std::vector<int32_t> k, int32_t rows, int32_t columns,
            const std::string& align) {
  return Eval("MatrixDiagV3",
              {diagonal, Tensor::FromValues<int32_t>(k, ShapeOf({static_cast<int64_t>(k.size())})),
               Tensor::Scalar(rows), Tensor::Scalar(columns), Tensor::Scalar(0.0)},
              Attrs({{"align", align}}));
}

TEST(MatrixDiag, OneDiagonal) {
  EXPECT_EQ(Values<double>(Diag(Iota({2}, 1), {0}, -1, -1, "RIGHT_LEFT")),
            (std::vector<double>{1, 0, 0, 2}));
  EXPECT_EQ(Values<double>(Diag(Iota({2}, 1), {1}, -1, -1, "RIGHT_LEFT")),
            (std::vector<double>{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(Values<double>(Diag(Iota({2}, 1), {0}, 2, 4, "RIGHT_LEFT")),
            (std::vector<double>{1, 0, 0, 0, 0, 2, 0, 0}));
  EXPECT_EQ(Diag(Iota({3, 3}), {0}, -1, -1, "RIGHT_LEFT").shape(), ShapeOf({3, 3, 3}));
}

TEST(MatrixDiag, BandsAlignedEachWay) {
  const Tensor band = Iota({3, 3}, 1);
  EXPECT_EQ(Values<double>(Diag(band, {-1, 1}, -1, -1, "RIGHT_LEFT")),
            (std::vector<double>{4, 2, 0, 7, 5, 3, 0, 8, 6}));
  EXPECT_EQ(Values<double>(Diag(band, {-1, 1}, -1, -1, "LEFT_LEFT")),
            (std::vector<double>{4, 1, 0, 7, 5, 2, 0, 8, 6}));
  EXPECT_EQ(Values<double>(Diag(band, {-1, 1}, -1, -1, "LEFT_RIGHT")),
            (std::vector<double>{4, 1, 0, 8, 5, 2, 0, 9, 6}));
  EXPECT_EQ(Values<double>(Diag(band, {-1, 1}, 3, 4, "RIGHT_LEFT")),
            (std::vector<double>{4, 1, 0, 0, 7, 5, 2, 0, 0, 8, 6, 3}));
}

TEST(MatrixDiag, DiagonalsOutsideOfTheMatrixHaveNoElements) {
  EXPECT_EQ(Values<double>(Diag(Iota({2, 1}, 1), {-2, -1}, 2, -1, "RIGHT_RIGHT")),
            (std::vector<double>{0, 1}));
}

TEST(MatrixDiag, BadArgumentsAreNamed) {
  const auto error = [](const Tensor& diagonal, std::vector<int32_t> k, int32_t rows,
                        int32_t columns) {
    return Message(EvalError(
        "MatrixDiagV3",
        {diagonal, Tensor::FromValues<int32_t>(k, ShapeOf({static_cast<int64_t>(k.size())})),
         Tensor::Scalar(rows), Tensor::Scalar(columns), Tensor::Scalar(0.0)}));
  };
  EXPECT_THAT(error(Iota({2}), {0}, 3, 3), HasSubstr("neither the number of rows"));
  EXPECT_THAT(error(Iota({2}), {0}, 1, 1), HasSubstr("rows is too small"));
  EXPECT_THAT(error(Iota({3, 3}), {1, -1}, -1, -1), HasSubstr("1 > -1"));
  EXPECT_THAT(error(Iota({3, 3}), {-1, 0}, -1, -1), HasSubstr("must hold 2 diagonals"));
  EXPECT_THAT(error(Tensor::Scalar(1.0), {0}, -1, -1), HasSubstr("at least one dimension"));
}

}  // namespace
}  // namespace gyre::test
