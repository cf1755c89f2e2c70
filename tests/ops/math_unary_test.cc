// Unary elementwise ops: accuracy against the C library in long double, special values, and the
// same bits wherever an element stands.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "ops/math_values.h"

namespace gyre {
namespace {

using test::Eval;
using test::EvalError;
using test::ShapeOf;
using test::Values;
using Wide = long double;

template <typename T>
T Unary(absl::string_view op, T x) {
  const std::vector<T> y = Values<T>(Eval(op, {Tensor::Scalar<T>(x)}));
  return y.empty() ? T() : y[0];
}

// How far `got` is from `want`, in units in the last place of T.
template <typename T>
double UlpError(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded))
    return std::numeric_limits<double>::infinity();
  const T size = std::abs(rounded);
  const T next = std::nextafter(size, std::numeric_limits<T>::infinity());
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) /
                             (static_cast<Wide>(next) - size));
}

struct Function {
  const char* op;
  Wide (*exact)(Wide);
  double low, high;  // range of arguments
  double ulps;       // error allowed
};

const std::vector<Function>& Functions() {
  static const auto* const functions = new std::vector<Function>{
      {"Exp", [](Wide x) { return std::exp(x); }, -80, 80, 1.5},
      {"Log", [](Wide x) { return std::log(x); }, 1e-6, 100, 1.5},
      {"Log", [](Wide x) { return std::log(x); }, 0.9, 1.1, 1.5},
      {"Sin", [](Wide x) { return std::sin(x); }, -0.9, 0.9, 1.5},
      {"Sin", [](Wide x) { return std::sin(x); }, -100, 100, 1.6},
      {"Sin", [](Wide x) { return std::sin(x); }, -1e7, 1e7, 1.6},
      {"Cos", [](Wide x) { return std::cos(x); }, -0.9, 0.9, 1.5},
      {"Cos", [](Wide x) { return std::cos(x); }, -100, 100, 1.6},
      {"Cos", [](Wide x) { return std::cos(x); }, -1e7, 1e7, 1.6},
      {"Tan", [](Wide x) { return std::tan(x); }, -10, 10, 1.5},
      {"Asin", [](Wide x) { return std::asin(x); }, -1, 1, 1.5},
      {"Acos", [](Wide x) { return std::acos(x); }, -1, 1, 1.5},
      {"Atan", [](Wide x) { return std::atan(x); }, -10, 10, 1.5},
      {"Sinh", [](Wide x) { return std::sinh(x); }, -20, 20, 2.5},
      {"Cosh", [](Wide x) { return std::cosh(x); }, -20, 20, 2.5},
      {"Asinh", [](Wide x) { return std::asinh(x); }, -10, 10, 2.5},
      {"Asinh", [](Wide x) { return std::asinh(x); }, -1e30, 1e30, 2.5},
      {"Acosh", [](Wide x) { return std::acosh(x); }, 1, 10, 2.5},
      {"Acosh", [](Wide x) { return std::acosh(x); }, 1, 1e30, 2.5},
      {"Atanh", [](Wide x) { return std::atanh(x); }, -1, 1, 2.5},
      {"Tanh", [](Wide x) { return std::tanh(x); }, -10, 10, 3.5},
      {"Tanh", [](Wide x) { return std::tanh(x); }, -1e-3, 1e-3, 3.5},
      {"Sigmoid", [](Wide x) { return 1 / (1 + std::exp(-x)); }, -30, 30, 3},
      {"Softplus", [](Wide x) { return std::log1p(std::exp(x)); }, -30, 30, 2.5},
      {"Expm1", [](Wide x) { return std::expm1(x); }, -1, 1, 1.5},
      {"Log1p", [](Wide x) { return std::log1p(x); }, -0.5, 0.5, 1.5},
      {"Erf", [](Wide x) { return std::erf(x); }, -3, 3, 1.5},
      {"Erfc", [](Wide x) { return std::erfc(x); }, -3, 3, 3},
      {"Sqrt", [](Wide x) { return std::sqrt(x); }, 0, 100, 0.51},
      {"Rsqrt", [](Wide x) { return 1 / std::sqrt(x); }, 1e-6, 100, 1.5},
      {"Reciprocal", [](Wide x) { return 1 / x; }, -100, 100, 0.51},
      {"Square", [](Wide x) { return x * x; }, -100, 100, 0.51},
      {"Floor", [](Wide x) { return std::floor(x); }, -100, 100, 0},
      {"Ceil", [](Wide x) { return std::ceil(x); }, -100, 100, 0},
      {"Rint", [](Wide x) { return std::nearbyint(x); }, -100, 100, 0},
      {"Round", [](Wide x) { return std::nearbyint(x); }, -100, 100, 0},
      {"Abs", [](Wide x) { return std::abs(x); }, -100, 100, 0},
      {"Neg", [](Wide x) { return -x; }, -100, 100, 0},
  };
  return *functions;
}

template <typename T>
Tensor Arguments(const Function& f, int64_t n) {
  std::mt19937_64 random(5);
  Tensor x = *Tensor::Make(DTypeOf<T>, Shape::Vector(n));
  for (T& v : x.mutable_values<T>()) {
    v = static_cast<T>(f.low + (f.high - f.low) * static_cast<double>(random() >> 11) * 0x1p-53);
  }
  return x;
}

template <typename T>
void CheckAccuracy() {
  for (const Function& f : Functions()) {
    const Tensor x = Arguments<T>(f, 5001);
    const Tensor y = Eval(f.op, {x});
    ASSERT_EQ(y.shape(), x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const T argument = x.values<T>()[i];
      ASSERT_LE(UlpError(y.values<T>()[i], f.exact(argument)), f.ulps)
          << f.op << " of " << argument;
    }
  }
}

TEST(MathUnary, IsAccurateInFloat) { CheckAccuracy<float>(); }
TEST(MathUnary, IsAccurateInDouble) { CheckAccuracy<double>(); }

template <typename T, typename Bits>
void CheckPositions() {
  for (const Function& f : Functions()) {
    const Tensor x = Arguments<T>(f, 75);
    const std::vector<T> whole = Values<T>(Eval(f.op, {x}));
    for (const int64_t begin : {0, 1, 3, 64}) {
      const std::vector<T> part = Values<T>(Eval(f.op, {x.SliceRows(begin, 75 - begin)}));
      for (size_t i = 0; i < part.size(); ++i) {
        ASSERT_EQ(std::bit_cast<Bits>(part[i]), std::bit_cast<Bits>(whole[begin + i])) << f.op;
      }
    }
    for (int i = 0; i < 75; ++i) {
      ASSERT_EQ(std::bit_cast<Bits>(Unary<T>(f.op, x.values<T>()[i])),
                std::bit_cast<Bits>(whole[i]))
          << f.op;
    }
  }
}

TEST(MathUnary, ScalarTailAndMiddleOfAVectorGiveTheSameBits) {
  CheckPositions<float, uint32_t>();
  CheckPositions<double, uint64_t>();
}

template <typename T>
void CheckSpecialValues() {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  struct Case {
    const char* op;
    T x, y;
  };
  const T tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<Case> cases = {{"Exp", kInf, kInf},
                                   {"Exp", -kInf, 0},
                                   {"Exp", 0, 1},
                                   {"Exp", 1000, kInf},
                                   {"Exp", -1000, 0},
                                   {"Exp", kNan, kNan},
                                   {"Log", 0, -kInf},
                                   {"Log", -T(0), -kInf},
                                   {"Log", -1, kNan},
                                   {"Log", kInf, kInf},
                                   {"Log", 1, 0},
                                   {"Log", kNan, kNan},
                                   {"Log", -kInf, kNan},
                                   {"Sin", kInf, kNan},
                                   {"Cos", -kInf, kNan},
                                   {"Cos", 0, 1},
                                   {"Sin", kNan, kNan},
                                   {"Tanh", kInf, 1},
                                   {"Tanh", -kInf, -1},
                                   {"Tanh", kNan, kNan},
                                   {"Tanh", tiny, tiny},
                                   {"Sigmoid", kInf, 1},
                                   {"Sigmoid", -kInf, 0},
                                   {"Sigmoid", 0, T(0.5)},
                                   {"Sigmoid", kNan, kNan},
                                   {"Sqrt", -1, kNan},
                                   {"Sqrt", kInf, kInf},
                                   {"Rsqrt", 0, kInf},
                                   {"Rsqrt", kInf, 0},
                                   {"Rsqrt", -1, kNan},
                                   {"Reciprocal", 0, kInf},
                                   {"Reciprocal", -T(0), -kInf},
                                   {"Softplus", 1000, 1000},
                                   {"Softplus", -1000, 0},
                                   {"Softplus", kNan, kNan},
                                   {"Floor", -T(0.5), -1},
                                   {"Ceil", T(0.5), 1},
                                   {"Rint", T(0.5), 0},
                                   {"Rint", T(1.5), 2},
                                   {"Round", T(2.5), 2},
                                   {"Floor", kInf, kInf},
                                   {"Sign", -3, -1},
                                   {"Sign", 0, 0},
                                   {"Sign", kNan, kNan},
                                   {"Abs", -kInf, kInf},
                                   {"Neg", kInf, -kInf}};
  for (const Case& c : cases) {
    const std::vector<T> many =
        Values<T>(Eval(c.op, {Tensor::FromValues<T>(std::vector<T>(19, c.x), Shape::Vector(19))}));
    for (const T y : {Unary<T>(c.op, c.x), many[0], many[18]}) {
      EXPECT_TRUE(y == c.y || (std::isnan(y) && std::isnan(c.y)))
          << c.op << " of " << c.x << " is " << y;
    }
  }
  for (const char* op : {"Sin", "Tanh", "Sqrt", "Floor", "Tan", "Expm1", "Log1p", "Erf"}) {
    EXPECT_TRUE(std::signbit(Unary<T>(op, -T(0)))) << op << " of -0";
  }
}

TEST(MathUnary, SpecialValues) {
  CheckSpecialValues<float>();
  CheckSpecialValues<double>();
}

TEST(MathUnary, ExpReachesTheEndsOfItsRange) {
  EXPECT_TRUE(std::isfinite(Unary<float>("Exp", 88.72283f)));
  EXPECT_EQ(Unary<float>("Exp", 88.72285f), std::numeric_limits<float>::infinity());
  EXPECT_GT(Unary<float>("Exp", -103.0f), 0);
  EXPECT_TRUE(std::isfinite(Unary<double>("Exp", 709.78)));
  EXPECT_EQ(Unary<double>("Exp", 709.79), std::numeric_limits<double>::infinity());
  EXPECT_GT(Unary<double>("Exp", -745.0), 0);
}

TEST(MathUnary, LargeTensorsAreComputedInPieces) {
  Tensor x = *Tensor::Make(DType::kFloat, ShapeOf({3, 50021}));
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_values<float>()[i] = static_cast<float>(i);
  const Tensor y = Eval("Sqrt", {x});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    ASSERT_EQ(y.values<float>()[i], std::sqrt(static_cast<float>(i)));
  }
}

TEST(MathUnary, SmallFloatsAreComputedInFloatAndRoundedOnce) {
  std::vector<Half> halves;
  std::vector<BFloat16> bfloats;
  for (int i = 0; i < 300; ++i) {
    halves.push_back(Half(0.01f * static_cast<float>(i) - 1));
    bfloats.push_back(BFloat16(0.01f * static_cast<float>(i) - 1));
  }
  for (const char* op : {"Exp", "Tanh", "Neg", "Sin", "Square", "Floor", "Softplus", "Sigmoid"}) {
    const auto h = Values<Half>(Eval(op, {Tensor::FromValues<Half>(halves, ShapeOf({300}))}));
    const auto b =
        Values<BFloat16>(Eval(op, {Tensor::FromValues<BFloat16>(bfloats, ShapeOf({300}))}));
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(h[i].bits, Half(Unary<float>(op, static_cast<float>(halves[i]))).bits) << op;
      EXPECT_EQ(b[i].bits, BFloat16(Unary<float>(op, static_cast<float>(bfloats[i]))).bits) << op;
      EXPECT_EQ(Unary<Half>(op, halves[i]).bits, h[i].bits) << op;
    }
  }
}

TEST(MathUnary, TheLeastIntegerHasNoPositiveCounterpart) {
  EXPECT_EQ(Unary<int32_t>("Abs", INT32_MIN), INT32_MIN);
  EXPECT_EQ(Unary<int8_t>("Neg", -128), -128);
  EXPECT_EQ(Unary<int64_t>("Neg", INT64_MIN), INT64_MIN);
  EXPECT_EQ(Unary<int16_t>("Abs", -5), 5);
  EXPECT_EQ(Unary<int32_t>("Sign", -7), -1);
  EXPECT_EQ(Unary<int32_t>("Square", 65536), 0);
  EXPECT_EQ(Unary<int32_t>("Round", 7), 7);
}

TEST(MathUnary, KindsOfNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Vector<float>({0, inf, -inf, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(Values<bool>(Eval("IsFinite", {x})), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(Values<bool>(Eval("IsInf", {x})), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(Values<bool>(Eval("IsNan", {x})), (std::vector<bool>{false, false, false, true}));
}

TEST(MathUnary, FunctionsOfComplexNumbers) {
  using C = complex128;
  const std::vector<std::pair<const char*, std::function<C(C)>>> functions = {
      {"Exp", [](C z) { return std::exp(z); }},
      {"Log", [](C z) { return std::log(z); }},
      {"Sin", [](C z) { return std::sin(z); }},
      {"Cos", [](C z) { return std::cos(z); }},
      {"Tanh", [](C z) { return std::tanh(z); }},
      {"Sigmoid", [](C z) { return 1.0 / (1.0 + std::exp(-z)); }},
      {"Sqrt", [](C z) { return std::sqrt(z); }},
      {"Rsqrt", [](C z) { return 1.0 / std::sqrt(z); }},
      {"Reciprocal", [](C z) { return 1.0 / z; }},
      {"Square", [](C z) { return z * z; }},
      {"Neg", [](C z) { return -z; }},
      {"Sign", [](C z) { return z / std::abs(z); }},
      {"Conj", [](C z) { return std::conj(z); }},
  };
  const C z(0.5, -1.25);
  for (const auto& [op, expected] : functions) {
    EXPECT_LT(std::abs(Unary<C>(op, z) - expected(z)), 1e-14) << op;
    const auto many = Values<C>(Eval(op, {Tensor::Vector<C>({z, z})}));
    EXPECT_LT(std::abs(many[1] - expected(z)), 1e-14) << op;
  }
  EXPECT_EQ(Unary<C>("Sign", C(0, 0)), C(0, 0));
}

TEST(MathUnary, PartsOfComplexNumbers) {
  const Tensor z = Tensor::Vector<complex64>({{3, 4}, {0, -2}});
  EXPECT_EQ(Values<float>(Eval("Real", {z})), (std::vector<float>{3, 0}));
  EXPECT_EQ(Values<float>(Eval("Imag", {z})), (std::vector<float>{4, -2}));
  EXPECT_EQ(Values<float>(Eval("ComplexAbs", {z})), (std::vector<float>{5, 2}));
  EXPECT_FLOAT_EQ(Values<float>(Eval("Angle", {z}))[1], -std::acos(0.0f));
  EXPECT_EQ(
      Values<complex64>(Eval("Complex", {Tensor::Vector<float>({1, 2}), Tensor::Scalar<float>(5)})),
      (std::vector<complex64>{{1, 5}, {2, 5}}));
  const Tensor wide = Tensor::Scalar<complex128>({3, 4});
  EXPECT_EQ(Values<double>(Eval("ComplexAbs", {wide}, test::Attrs({{"Tout", DType::kDouble}})))[0],
            5);
  EXPECT_EQ(EvalError("Real", {wide}, test::Attrs({{"Tout", DType::kFloat}})).code(),
            absl::StatusCode::kUnimplemented);
}

TEST(MathUnary, GradientsFollowFromTheValue) {
  const auto gradient = [](absl::string_view op, double y, double dy) {
    return Values<double>(Eval(op, {Tensor::Scalar<double>(y), Tensor::Scalar<double>(dy)}))[0];
  };
  EXPECT_DOUBLE_EQ(gradient("TanhGrad", 0.5, 3), 3 * 0.75);
  EXPECT_DOUBLE_EQ(gradient("SigmoidGrad", 0.25, 2), 2 * 0.25 * 0.75);
  EXPECT_DOUBLE_EQ(gradient("SqrtGrad", 4, 3), 3.0 / 8);
  EXPECT_DOUBLE_EQ(gradient("RsqrtGrad", 0.5, 3), -3 * 0.125 / 2);
  EXPECT_DOUBLE_EQ(gradient("ReciprocalGrad", 0.5, 3), -3 * 0.25);
  EXPECT_DOUBLE_EQ(gradient("SoftplusGrad", 3, 0), 1.5);
  const complex128 y(1, 2);
  const auto z = Values<complex128>(
      Eval("ReciprocalGrad", {Tensor::Scalar<complex128>(y), Tensor::Scalar<complex128>({1, 0})}));
  EXPECT_EQ(z[0], -std::conj(y) * std::conj(y));
}

TEST(MathUnary, GradientsOfComplexTanhAndSigmoidAreHandedTheConjugate) {
  const complex128 y(1, 2), dy(3, -1);
  const auto gradient = [&](absl::string_view op) {
    return Values<complex128>(
        Eval(op, {Tensor::Scalar<complex128>(y), Tensor::Scalar<complex128>(dy)}))[0];
  };
  EXPECT_EQ(gradient("TanhGrad"), dy * (1.0 - y * y));
  EXPECT_EQ(gradient("SigmoidGrad"), dy * y * (1.0 - y));
}

TEST(MathUnary, Expm1AndLog1pOfComplexNumbersAreAccurateNearZero) {
  const complex128 tiny(1e-18, -2e-19);
  EXPECT_EQ(Unary<complex128>("Expm1", tiny), tiny);
  EXPECT_EQ(Unary<complex128>("Log1p", tiny), tiny);
  const complex128 small(1e-9, 3e-9);
  EXPECT_LT(std::abs(Unary<complex128>("Expm1", small) - (small + small * small / 2.0)), 1e-24);
  EXPECT_LT(std::abs(Unary<complex128>("Log1p", small) - (small - small * small / 2.0)), 1e-24);
  for (const complex128 x : {complex128(1.5, -2), complex128(0.5, 40), complex128(-3, 4)}) {
    EXPECT_LT(std::abs(Unary<complex128>("Expm1", x) - (std::exp(x) - 1.0)), 1e-14) << x;
    EXPECT_LT(std::abs(Unary<complex128>("Log1p", x) - std::log(x + 1.0)), 1e-14) << x;
  }
  EXPECT_LT(std::abs(Unary<complex128>("Expm1", complex128(-100, 1)) + 1.0), 1e-17);
}

TEST(MathUnary, GradientsDontBroadcast) {
  const absl::Status status =
      EvalError("TanhGrad", {Tensor::Vector<float>({1, 2}), Tensor::Scalar<float>(1)});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(test::Message(status),
            "both inputs must have the same shape, but they have [2] and []");
}

}  // namespace
}  // namespace gyre
