// Gradient rules of elementwise ops.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> Doubles(const Tensor& t) {
  return t.has_value() ? std::vector<double>(t.values<double>().begin(), t.values<double>().end())
                       : std::vector<double>();
}

Tensor Vector(std::initializer_list<double> values) { return Tensor::Vector<double>(values); }

// An op of one argument and where it is smooth.
struct UnaryCase {
  std::string op;
  double low, high;
  bool is_complex = true;  // there is one for complex numbers
};

const UnaryCase kUnary[] = {
    {"Neg", -2, 2},         {"Square", -2, 2},
    {"Exp", -2, 2},         {"Log", 0.3, 3},
    {"Tanh", -1, 1},        {"Sigmoid", -1, 1},
    {"Expm1", -2, 2},       {"Log1p", -0.6, 2},
    {"Sinh", -1, 1},        {"Cosh", -1, 1},
    {"Asinh", -2, 2},       {"Acosh", 1.2, 3},
    {"Atanh", -0.8, 0.8},   {"Erf", -2, 2, false},
    {"Erfc", -2, 2, false}, {"Softplus", -3, 3, false},
    {"Abs", 0.2, 2, false}, {"Sqrt", 0.3, 3},
    {"Rsqrt", 0.4, 3},      {"Reciprocal", 0.5, 2},
    {"Sin", -2, 2},         {"Cos", -2, 2},
    {"Tan", -1, 1},         {"Asin", -0.8, 0.8},
    {"Acos", -0.8, 0.8},    {"Atan", -2, 2},
};

TEST(MathRules, FunctionsOfOneRealNumber) {
  Draw draw;
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(c.op);
    ExpectOpGradient(OpCase{c.op, {draw({2, 3}, c.low, c.high)}}.Order(3));
    ExpectOpGradient({c.op, {draw({}, c.low, c.high)}});
    ExpectOpGradient({c.op, {draw({0, 3})}});
  }
  ExpectOpGradient({"Abs", {draw({4}, -2, -0.2)}});
  ExpectOpGradient({"CheckNumerics", {draw({3})}, R"(message="m")"});
}

TEST(MathRules, FunctionsOfOneComplexNumber) {
  Draw draw;
  for (const UnaryCase& c : kUnary) {
    if (!c.is_complex) continue;
    SCOPED_TRACE(c.op);
    ExpectOpGradient({c.op, {draw.Complex({4}, std::max(c.low, 0.1), c.high)}});
  }
}

TEST(MathRules, PartsOfComplexNumbers) {
  Draw draw;
  for (const std::string op : {"Real", "Imag", "ComplexAbs", "Angle"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw.Complex({2, 3}, 0.3, 1)}, "Tout=float64"});
  }
  ExpectOpGradient({"Conj", {draw.Complex({3})}});
  ExpectOpGradient({"Sign", {draw.Complex({3}, 0.3, 1)}});
  ExpectOpGradient({"Complex", {draw({2, 3}), draw({3})}, "Tout=complex128"});
  ExpectOpGradient({"Complex", {draw({1, 3}), draw({2, 1})}, "Tout=complex128"});
}

TEST(MathRules, AtZeroAComplexNumberHasNoDirection) {
  const Tensor zero = Tensor::Vector<complex128>({complex128(0)});
  const Tensor gradient = OpGradients({"ComplexAbs", {zero}, "Tout=float64"})[0];
  EXPECT_EQ(gradient.scalar<complex128>(), complex128(0));
}

TEST(MathRules, SecondDerivativesAsOpsOfTheirOwn) {
  Draw draw;
  for (const std::string op :
       {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient(OpCase{op, {draw({2, 3}, 0.3, 0.9), draw({2, 3})}}.Order(3));
    ExpectOpGradient({op, {draw.Complex({3}, 0.3, 0.9), draw.Complex({3})}});
  }
  ExpectOpGradient(OpCase{"SoftplusGrad", {draw({2, 3}), draw({2, 3})}}.Order(3));
}

struct BinaryCase {
  std::string op;
  double low, high;  // of both
  bool is_complex = true;
};

const BinaryCase kBinary[] = {
    {"Add", -1, 1},
    {"AddV2", -1, 1},
    {"Sub", -1, 1},
    {"Mul", -1, 1},
    {"Div", 0.5, 2},
    {"RealDiv", 0.5, 2},
    {"DivNoNan", 0.5, 2},
    {"Pow", 0.5, 2},
    {"SquaredDifference", -1, 1},
    {"Maximum", -1, 1, false},
    {"Minimum", -1, 1, false},
    {"Atan2", 0.3, 1, false},
};

TEST(MathRules, FunctionsOfTwoNumbersBroadcast) {
  Draw draw;
  const std::pair<Dims, Dims> shapes[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}},    {{3}, {2, 3}},
                                          {{2, 3}, {1, 3}}, {{2, 1}, {1, 3}}, {{2, 3}, {}},
                                          {{}, {2, 3}},     {{}, {}},         {{2, 1, 2}, {3, 1}},
                                          {{1}, {1, 1}},    {{0, 2}, {1, 2}}};
  for (const BinaryCase& c : kBinary) {
    for (const auto& [x, y] : shapes) {
      SCOPED_TRACE(c.op);
      ExpectOpGradient({c.op, {draw(x, c.low, c.high), draw(y, c.low, c.high)}});
      if (!c.is_complex) continue;
      ExpectOpGradient({c.op, {draw.Complex(x, c.low, c.high), draw.Complex(y, c.low, c.high)}});
    }
  }
}

TEST(MathRules, OneOfTwoNumbersIsConstant) {
  Draw draw;
  for (const BinaryCase& c : kBinary) {
    SCOPED_TRACE(c.op);
    for (const int fixed : {0, 1}) {
      const OpCase both{c.op, {draw({2, 3}, c.low, c.high), draw({3}, c.low, c.high)}};
      ExpectOpGradient(both.Fixed({fixed}));
    }
  }
}

TEST(MathRules, Remainders) {
  for (const std::string op : {"FloorMod", "TruncateMod", "Mod"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {Vector({5.3, -5.3, 0.4}), Vector({2, 1.9, -0.7})}});
    ExpectOpGradient({op, {Vector({5.3, -5.3, 0.4}), Tensor::Scalar(1.7)}});
  }
}

TEST(MathRules, DivisionByZeroThatGivesZero) {
  const auto gradients = OpGradients({"DivNoNan", {Vector({1, 2}), Vector({0, 4})}});
  EXPECT_THAT(Doubles(gradients[0]), ElementsAre(0, 0.25));
  EXPECT_THAT(Doubles(gradients[1]), ElementsAre(0, -0.125));
}

TEST(MathRules, PowersAtZeroAndBelow) {
  const auto gradients = OpGradients({"Pow", {Vector({0, 0, -2, 2}), Vector({2, 1, 2, 3})}});
  EXPECT_THAT(Doubles(gradients[0]), ElementsAre(0, 1, -4, 12));
  EXPECT_THAT(Doubles(gradients[1]), ElementsAre(0, 0, 0, 8 * std::log(2)));
}

TEST(MathRules, XCountsWhereNeitherIsLarger) {
  for (const std::string op : {"Maximum", "Minimum"}) {
    const auto gradients = OpGradients({op, {Vector({1, 2}), Vector({1, 2})}});
    EXPECT_THAT(Doubles(gradients[0]), ElementsAre(1, 1));
    EXPECT_THAT(Doubles(gradients[1]), ElementsAre(0, 0));
  }
}

TEST(MathRules, Kinks) {
  EXPECT_THAT(Doubles(OpGradients({"Abs", {Vector({-2, 0, 2})}})[0]), ElementsAre(-1, 0, 1));
  EXPECT_THAT(Doubles(OpGradients({"Sqrt", {Vector({0, 4})}})[0]), ElementsAre(kInf, 0.25));
}

TEST(MathRules, Selections) {
  Draw draw;
  const Tensor mask =
      Tensor::FromValues<bool>({true, false, false, true, true, false}, Shape::Trusted({2, 3}));
  const Tensor rows = Tensor::Vector<bool>({true, false});
  const Tensor columns = Tensor::Vector<bool>({true, false, true});
  for (const std::string op : {"Select", "SelectV2"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {mask, draw({2, 3}), draw({2, 3})}});
    ExpectOpGradient({op, {Tensor::Scalar(true), draw({2, 3}), draw({2, 3})}});
    ExpectOpGradient(OpCase{op, {mask, draw.Complex({2, 3}), draw.Complex({2, 3})}}.Fixed({1}));
  }
  ExpectOpGradient({"Select", {rows, draw({2, 3}), draw({2, 3})}});
  ExpectOpGradient({"SelectV2", {columns, draw({2, 3}), draw({2, 3})}});
  ExpectOpGradient({"SelectV2", {mask, draw({}), draw({3})}});
  ExpectOpGradient({"SelectV2", {mask, draw({2, 1}), draw({1, 1})}});
  ExpectOpGradient({"SelectV2", {columns, draw({}), draw({2, 1})}});
}

TEST(MathRules, WhatIsNotChosenMayBeInfinite) {
  const Tensor mask = Tensor::Vector<bool>({true, false});
  const std::string text = R"(graph {
    %c = Placeholder() : bool
    %x = Placeholder() : float64
    %log = Log(%x)
    %y = SelectV2(%c, %log, %x)
  })";
  const auto gradients = GradientsAt(text, {{"c", mask}, {"x", Vector({2, 4})}}, {"x"}, "y");
  EXPECT_THAT(Doubles(gradients[0]), ElementsAre(0.5, 1));
}

TEST(MathRules, Casts) {
  Draw draw;
  ExpectOpGradient({"Cast", {draw({3})}, "DstT=complex128"});
  ExpectOpGradient({"Cast", {draw.Complex({3})}, "DstT=float64"});
  ExpectOpGradient({"Cast", {draw({3})}, "DstT=float64"});
  EXPECT_FALSE(OpGradients({"Cast", {draw({3})}, "DstT=int32"})[0].has_value());
  const std::string text = R"(graph {
    %x = Placeholder() : float64
    %single = Cast(%x) DstT=float32
    %y = Cast(%single) DstT=float64
  })";
  EXPECT_THAT(Doubles(GradientsAt(text, {{"x", Vector({3})}}, {"x"}, "y")[0]), ElementsAre(1));
}

TEST(MathRules, Sums) {
  Draw draw;
  ExpectOpGradient({"AddN", {draw({2, 3}), draw({2, 3}), draw({2, 3})}});
  ExpectOpGradient({"AddN", {draw({})}});
  ExpectOpGradient({"AccumulateNV2", {draw({2}), draw({2})}, "shape=(2)"});
}

TEST(MathRules, WhatIsConstantBetweenSteps) {
  Draw draw;
  for (const std::string op : {"Floor", "Ceil", "Rint", "Round", "Sign"}) {
    EXPECT_FALSE(OpGradients({op, {draw({3})}})[0].has_value()) << op;
  }
}

// Where shapes are known, nothing is found out at run time.
TEST(MathRules, KnownShapesCostNothing) {
  const auto ops = [](const std::string& x, const std::string& y) {
    return GradientOps("graph {\n%x = Placeholder() shape=" + x +
                           " : float64\n%c = Placeholder() shape=" + y +
                           " : float64\n%y = Mul(%x, %c)\n}",
                       {"x"}, "y");
  };
  EXPECT_THAT(ops("(2,3)", "(2,3)"), ElementsAre("OnesLike", "Mul"));
  EXPECT_THAT(ops("?", "()"), ElementsAre("OnesLike", "Mul"));
  EXPECT_THAT(ops("(?,3)", "(3)"), ElementsAre("OnesLike", "Mul"));
  EXPECT_THAT(ops("(?,?)", "(1,1)"), ElementsAre("OnesLike", "Mul"));
  EXPECT_THAT(ops("()", "(?,3)"), ElementsAre("OnesLike", "Mul", "Sum"));
  EXPECT_THAT(ops("(3)", "(?,3)"), ElementsAre("OnesLike", "Mul", "Sum"));
  EXPECT_THAT(ops("(1,3)", "(?,3)"), ElementsAre("OnesLike", "Mul", "Sum"));
  EXPECT_THAT(ops("(1,3)", "(4,?,3)"), ElementsAre("OnesLike", "Mul", "Sum", "Reshape"));
  EXPECT_THAT(ops("(?)", "(?)"), Contains("BroadcastGradientArgs"));
}

TEST(MathRules, AValueDoesNotWidenItself) {
  const std::string text = R"(graph {
    %x = Placeholder() : float64
    %y = Mul(%x, %x)
  })";
  EXPECT_THAT(GradientOps(text, {"x"}, "y"), ElementsAre("OnesLike", "Mul", "Mul", "AddV2"));
}

TEST(MathRules, WhatIsNotWantedIsNotComputed) {
  const std::string text = R"(graph {
    %x = Placeholder() : float64
    %two = Const() value=float64{2} : float64
    %y = Pow(%x, %two)
  })";
  EXPECT_THAT(GradientOps(text, {"x"}, "y"), Not(Contains("Log")));
}

}  // namespace
}  // namespace gyre::testing
