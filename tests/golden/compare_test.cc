// What counts as the expected value, and what a difference is told as.
#include "golden/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gyre::golden {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string Differ(const Tensor& got, const Tensor& want, Tolerance tolerance = {}) {
  return Difference(got, want, tolerance).value_or("");
}

TEST(Compare, TypeAndShapeMustBeEqual) {
  EXPECT_EQ(Differ(Tensor::Scalar(1.0f), Tensor::Scalar(1.0)), "got float32[], want float64[]");
  EXPECT_EQ(Differ(Tensor::Vector<int32_t>({1}), Tensor::Scalar<int32_t>(1)),
            "got int32[1], want int32[]");
  EXPECT_EQ(Differ(Tensor(), Tensor::Scalar(1.0f)), "got no value");
}

TEST(Compare, FloatsMayDifferByTheTolerance) {
  const Tensor want = Tensor::Scalar(100.0);
  const Tolerance tolerance{.rtol = 0.01, .atol = 0.5};  // allows 1.5
  EXPECT_EQ(Differ(Tensor::Scalar(101.5), want, tolerance), "");
  EXPECT_EQ(Differ(Tensor::Scalar(98.5), want, tolerance), "");
  EXPECT_EQ(Differ(Tensor::Scalar(102.0), want, tolerance),
            "got 102, want 100; largest error 2, allowed 1.5");
  EXPECT_EQ(Differ(Tensor::Scalar(std::nextafter(1.0f, 2.0f)), Tensor::Scalar(1.0f)),
            "got 1.00000012, want 1; largest error 1.1920928955078125e-07");
  EXPECT_EQ(Differ(Tensor::Scalar(Half(1.0f)), Tensor::Scalar(Half(1.0f))), "");
  EXPECT_NE(Differ(Tensor::Scalar(BFloat16(1.0f)), Tensor::Scalar(BFloat16(1.0078125f))), "");
}

TEST(Compare, SaysWhichElementsDiffer) {
  const Tensor want = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, *Shape::Make({2, 3}));
  const Tensor got = Tensor::FromValues<float>({1, 2, 3.5, 4, 9, 6}, *Shape::Make({2, 3}));
  EXPECT_EQ(
      Differ(got, want, {.atol = 0.25}),
      "at [0,2] got 3.5, want 3; 2 of 6 elements differ; largest error 4 at [1,1], allowed 0.25");
}

TEST(Compare, NanEqualsNanAndInfinitiesGoBySign) {
  const Tolerance loose{.rtol = 1, .atol = 1e30};
  EXPECT_EQ(Differ(Tensor::Vector<float>({kNan, kInf, -kInf}),
                   Tensor::Vector<float>({kNan, kInf, -kInf})),
            "");
  EXPECT_EQ(Differ(Tensor::Scalar(-kInf), Tensor::Scalar(kInf), loose),
            "got -inf, want inf; largest error inf");
  EXPECT_NE(Differ(Tensor::Scalar(1.0f), Tensor::Scalar(kNan), loose), "");
  EXPECT_NE(Differ(Tensor::Scalar(kNan), Tensor::Scalar(1.0f), loose), "");
  EXPECT_NE(Differ(Tensor::Scalar(1.0f), Tensor::Scalar(kInf), loose), "");
  EXPECT_NE(Differ(Tensor::Scalar(kInf), Tensor::Scalar(1.0f), loose), "");
}

TEST(Compare, IntegersAreExactHoweverLarge) {
  const Tolerance loose{.rtol = 1, .atol = 1};
  EXPECT_EQ(Differ(Tensor::Scalar<int64_t>(INT64_MAX), Tensor::Scalar<int64_t>(INT64_MAX)), "");
  EXPECT_EQ(
      Differ(Tensor::Scalar<int64_t>(INT64_MAX - 1), Tensor::Scalar<int64_t>(INT64_MAX), loose),
      "got 9223372036854775806, want 9223372036854775807; largest error 1");
  EXPECT_EQ(Differ(Tensor::Scalar<int32_t>(4), Tensor::Scalar<int32_t>(5), loose),
            "got 4, want 5; largest error 1");
  EXPECT_EQ(Differ(Tensor::Scalar<uint8_t>(4), Tensor::Scalar<uint8_t>(4)), "");
}

TEST(Compare, BoolsAndStrings) {
  EXPECT_EQ(Differ(Tensor::Scalar(true), Tensor::Scalar(false)), "got true, want false");
  EXPECT_EQ(
      Differ(Tensor::Vector<std::string>({"a", "b\n"}), Tensor::Vector<std::string>({"a", "c"})),
      "at [1] got \"b\\n\", want \"c\"; 1 of 2 elements differ");
}

TEST(Compare, ComplexNumbersGoByAbsoluteValue) {
  const Tensor want = Tensor::Scalar(complex128(3, 4));
  EXPECT_EQ(Differ(Tensor::Scalar(complex128(3, 4.5)), want, {.rtol = 0.1}), "");
  EXPECT_EQ(Differ(Tensor::Scalar(complex128(3, 5)), want, {.rtol = 0.1}),
            "got (3, 5), want (3, 4); largest error 1, allowed 0.5");
  EXPECT_EQ(Differ(Tensor::Scalar(complex64(kNan, 1)), Tensor::Scalar(complex64(kNan, 1))), "");
  EXPECT_NE(
      Differ(Tensor::Scalar(complex64(kNan, 1)), Tensor::Scalar(complex64(1, kNan)), {.atol = 1e9}),
      "");
}

TEST(Compare, EmptyTensorsAreEqual) {
  EXPECT_EQ(Differ(Tensor::FromValues<float>({}, *Shape::Make({0, 3})),
                   Tensor::FromValues<float>({}, *Shape::Make({0, 3}))),
            "");
}

TEST(SameBits, TellsWhatComparingDoesNot) {
  EXPECT_FALSE(SameBits(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f)));
  EXPECT_TRUE(SameBits(Tensor::Scalar(kNan), Tensor::Scalar(kNan)));
  EXPECT_FALSE(SameBits(Tensor::Scalar(kNan), Tensor::Scalar(-kNan)));
  EXPECT_FALSE(SameBits(Tensor::Scalar(1.0f), Tensor::Vector<float>({1})));
  EXPECT_FALSE(SameBits(Tensor::Scalar<int32_t>(1), Tensor::Scalar<int64_t>(1)));
}

TEST(SameBits, OfStringsAndOfNothing) {
  const Tensor a = Tensor::Vector<std::string>({"a", ""});
  EXPECT_TRUE(SameBits(a, Tensor::Vector<std::string>({"a", ""})));
  EXPECT_FALSE(SameBits(a, Tensor::Vector<std::string>({"a", "b"})));
  EXPECT_TRUE(SameBits(Tensor(), Tensor()));
  EXPECT_FALSE(SameBits(Tensor(), a));
}

}  // namespace
}  // namespace gyre::golden
