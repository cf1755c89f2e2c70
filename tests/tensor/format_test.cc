// The text of numbers and tensors. The expected texts are those that TensorFlow 2.21 prints, save
// for complex numbers, which it shows as "?".
#include "tensor/format.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "gtest/gtest.h"

namespace gyre {
namespace {

Tensor Iota(std::vector<int64_t> dims) {
  const Shape shape = *Shape::Make(dims);
  std::vector<int32_t> values(shape.num_elements());
  std::iota(values.begin(), values.end(), 0);
  return Tensor::FromValues<int32_t>(values, shape);
}

std::string Nested(const Tensor& t, int64_t summarize = 3) {
  return FormatTensor(t, summarize, TensorFormat::kNested);
}

TEST(FormatFloat, PicksTheDigitsThatReadBack) {
  EXPECT_EQ(FormatFloat(0.1f), "0.1");
  EXPECT_EQ(FormatFloat(1.0f / 3), "0.333333343");
  EXPECT_EQ(FormatFloat(1e10f), "1e+10");
  EXPECT_EQ(FormatFloat(1e-5f), "1e-05");
  EXPECT_EQ(FormatFloat(123456789.0f), "123456792");
  EXPECT_EQ(FormatFloat(16777216.0f), "16777216");
  EXPECT_EQ(FormatFloat(3.4028235e38f), "3.40282347e+38");
  EXPECT_EQ(FormatFloat(-0.0f), "-0");
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(FormatDouble(1e16), "1e+16");
  EXPECT_EQ(FormatDouble(12345678901234567890.0), "1.2345678901234567e+19");
}

TEST(FormatFloat, NamesWhatIsNoNumber) {
  EXPECT_EQ(FormatFloat(std::nanf("")), "nan");
  EXPECT_EQ(FormatFloat(-std::nanf("")), "-nan");
  EXPECT_EQ(FormatFloat(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(FormatFloat, KeepsTheSmallestNumbers) {
  EXPECT_EQ(std::strtod(FormatDouble(5e-324).c_str(), nullptr), 5e-324);
  EXPECT_EQ(std::strtof(FormatFloat(1e-45f).c_str(), nullptr), 1e-45f);
}

TEST(FormatTensor, FlatShowsTheFirstElements) {
  EXPECT_EQ(FormatTensor(Tensor::Scalar(int32_t{5}), 3), "5");
  EXPECT_EQ(FormatTensor(Iota({10}), 3), "0 1 2...");
  EXPECT_EQ(FormatTensor(Iota({3}), 3), "0 1 2");
  EXPECT_EQ(FormatTensor(Iota({3}), 0), "...");
  EXPECT_EQ(FormatTensor(Iota({10}), -1), "0 1 2 3 4 5 6 7 8 9");
}

TEST(FormatTensor, FlatBracketsRows) {
  EXPECT_EQ(FormatTensor(Iota({2, 3}), 6), "[0 1 2][3 4 5]");
  EXPECT_EQ(FormatTensor(Iota({2, 3}), 4), "[0 1 2][3...]...");
  EXPECT_EQ(FormatTensor(Iota({2, 3}), 3), "[0 1 2]...");
  EXPECT_EQ(FormatTensor(Iota({2, 3, 4}), 3), "[[0 1 2...]]...");
  EXPECT_EQ(FormatTensor(Iota({2, 3, 4}), 7), "[[0 1 2 3][4 5 6...]]...");
  EXPECT_EQ(FormatTensor(Iota({2, 3, 4}), 100),
            "[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]");
}

TEST(FormatTensor, NestedShowsBothEndsOfEachDimension) {
  EXPECT_EQ(Nested(Tensor::Scalar(int32_t{5})), "5");
  EXPECT_EQ(Nested(Iota({6})), "[0 1 2 3 4 5]");
  EXPECT_EQ(Nested(Iota({10})), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(Nested(Iota({10}), 0), "[ ...]");
  EXPECT_EQ(Nested(Iota({2, 3, 4}), 1),
            "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]");
}

TEST(FormatTensor, NestedPutsRowsOnLines) {
  EXPECT_EQ(Nested(Iota({2, 2})), "[[0 1]\n [2 3]]");
  EXPECT_EQ(Nested(Iota({2, 2, 2, 2})),
            "[[[[0 1]\n   [2 3]]\n\n  [[4 5]\n   [6 7]]]\n\n\n [[[8 9]\n   [10 11]]\n\n"
            "  [[12 13]\n   [14 15]]]]");
}

TEST(FormatTensor, EmptyTensors) {
  EXPECT_EQ(Nested(Iota({0})), "[]");
  EXPECT_EQ(Nested(Iota({0, 3})), "[]");
  EXPECT_EQ(Nested(Iota({2, 0})), "[\n ...]");
  EXPECT_EQ(FormatTensor(Iota({0, 2}), 3), "");
  EXPECT_EQ(FormatTensor(Iota({int64_t{1} << 40, 0}), -1), "");  // at once
}

TEST(FormatTensor, EveryKindOfElement) {
  EXPECT_EQ(Nested(Tensor::Vector<bool>({true, false})), "[1 0]");
  EXPECT_EQ(Nested(Tensor::Scalar(int8_t{-3})), "-3");
  EXPECT_EQ(Nested(Tensor::Scalar(uint8_t{200})), "200");
  EXPECT_EQ(Nested(Tensor::Scalar(Half(0.1f))), "0.0999755859");
  EXPECT_EQ(Nested(Tensor::Scalar(BFloat16(0.1f))), "0.100097656");
  EXPECT_EQ(Nested(Tensor::Scalar(complex64(1, -2.5f))), "(1,-2.5)");
  EXPECT_EQ(Nested(Tensor::FromObject(DType::kVariant, nullptr)), "<nothing>");
}

TEST(FormatTensor, StringsAreEscapedAndNestedOnesQuoted) {
  const Tensor text = Tensor::Scalar(std::string("a\nb\"'\xc3\xa9\x01"));
  EXPECT_EQ(Nested(text), "\"a\\nb\\\"\\'\xc3\xa9\\001\"");
  EXPECT_EQ(FormatTensor(text, 3), "a\\nb\\\"\\'\xc3\xa9\\001");
  EXPECT_EQ(Nested(Tensor::Vector<std::string>({"a", "b"})), "[\"a\" \"b\"]");
}

}  // namespace
}  // namespace gyre
