// What people type after --feed NAME=.
#include "cli/literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/feed.h"
#include "support/temp_folder.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"

namespace gyre::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PartialShape kAny;

Tensor Parse(absl::string_view text, DType dtype = DType::kInvalid,
             const PartialShape& shape = kAny) {
  const auto tensor = ParseLiteral(text, dtype, shape);
  EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.status();
  return tensor.ok() ? *tensor : Tensor::Scalar<int8_t>(0);
}

std::string Mistake(absl::string_view text, DType dtype = DType::kInvalid,
                    const PartialShape& shape = kAny) {
  const auto tensor = ParseLiteral(text, dtype, shape);
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(tensor.status().message());
}

TEST(Literal, TypeIsGuessedFromTheValue) {
  EXPECT_EQ(Parse("3").dtype(), DType::kInt32);
  EXPECT_EQ(Parse("-3000000000").dtype(), DType::kInt64);
  EXPECT_EQ(Parse("3.5").dtype(), DType::kFloat);
  EXPECT_EQ(Parse("[1,2.5]").dtype(), DType::kFloat);
  EXPECT_EQ(Parse("true").dtype(), DType::kBool);
  EXPECT_EQ(Parse("\"hi\"").dtype(), DType::kString);
  EXPECT_EQ(Parse("1+2j").dtype(), DType::kComplex64);
  EXPECT_EQ(Parse("[]").dtype(), DType::kFloat);
}

TEST(Literal, NestedListsGiveTheShape) {
  const Tensor matrix = Parse(" [ [1, 2, 3], [4, 5, 6] ] ");
  EXPECT_EQ(matrix.shape(), *Shape::Make({2, 3}));
  EXPECT_THAT(matrix.values<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Parse("[[],[]]").shape(), *Shape::Make({2, 0}));
  EXPECT_EQ(Parse("[[[7]]]").shape(), *Shape::Make({1, 1, 1}));
}

TEST(Literal, TheGraphsTypeWins) {
  EXPECT_EQ(Parse("3", DType::kDouble).scalar<double>(), 3.0);
  EXPECT_EQ(Parse("0.1", DType::kDouble).scalar<double>(), 0.1);
  EXPECT_EQ(Parse("9223372036854775807", DType::kInt64).scalar<int64_t>(), INT64_MAX);
  EXPECT_EQ(Parse("18446744073709551615", DType::kUint64).scalar<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Parse("-128", DType::kInt8).scalar<int8_t>(), -128);
  EXPECT_EQ(Parse("1", DType::kBool).scalar<bool>(), true);
  EXPECT_EQ(static_cast<float>(Parse("1.5", DType::kHalf).scalar<Half>()), 1.5f);
  EXPECT_EQ(static_cast<float>(Parse("-2", DType::kBfloat16).scalar<BFloat16>()), -2.0f);
}

TEST(Literal, TypeBehindTheValue) {
  EXPECT_EQ(Parse("3:int64").dtype(), DType::kInt64);
  EXPECT_EQ(Parse("[1,2]:float64").dtype(), DType::kDouble);
  EXPECT_EQ(Parse("3:half").dtype(), DType::kHalf);
  EXPECT_THAT(Mistake("3:int64", DType::kInt32),
              HasSubstr("int32 is wanted, the value says int64"));
  EXPECT_THAT(Mistake("3:int46"), HasSubstr("3:int46"));
}

TEST(Literal, SpecialNumbers) {
  EXPECT_TRUE(std::isnan(Parse("nan", DType::kFloat).scalar<float>()));
  EXPECT_EQ(Parse("-inf", DType::kDouble).scalar<double>(), -INFINITY);
  EXPECT_EQ(Parse("inf", DType::kHalf).scalar<Half>().bits, Half(INFINITY).bits);
  EXPECT_EQ(Parse("1e-3-2.5e+1j", DType::kComplex128).scalar<complex128>(), complex128(1e-3, -25));
  EXPECT_EQ(Parse("-4j", DType::kComplex64).scalar<complex64>(), complex64(0, -4));
  EXPECT_EQ(Parse("7", DType::kComplex64).scalar<complex64>(), complex64(7, 0));
}

TEST(Literal, Strings) {
  EXPECT_EQ(Parse("\"a \\\"b\\\" \\n,]\"").scalar<std::string>(), "a \"b\" \n,]");
  EXPECT_THAT(Parse("[\"a\",\"\"]").values<std::string>(), ElementsAre("a", ""));
  EXPECT_EQ(Parse("plain, text: int", DType::kString).scalar<std::string>(), "plain, text: int");
  EXPECT_THAT(Mistake("\"open"), HasSubstr("closing"));
  EXPECT_THAT(Mistake("\"open\\"), HasSubstr("closing"));
}

TEST(Literal, ShapeOfTheGraph) {
  const PartialShape matrix(Dims{2, 3});
  EXPECT_THAT(Parse("7", DType::kInt32, matrix).values<int32_t>(), ElementsAre(7, 7, 7, 7, 7, 7));
  EXPECT_EQ(Parse("[1,2,3,4,5,6]", DType::kInt32, matrix).shape(), *Shape::Make({2, 3}));
  EXPECT_EQ(Parse("[[1,2,3]]", DType::kInt32, PartialShape(Dims{-1, 3})).shape(),
            *Shape::Make({1, 3}));
  EXPECT_THAT(Mistake("[1,2]", DType::kInt32, matrix),
              HasSubstr("shape [2,3] is wanted, the value has [2]"));
  EXPECT_THAT(Mistake("3", DType::kInt32, PartialShape(Dims{-1})), HasSubstr("[?]"));
}

TEST(Literal, MistakesAreNamed) {
  EXPECT_THAT(Mistake("[[1,2],[3]]"), HasSubstr("differ in length (2 and 1)"));
  EXPECT_THAT(Mistake("[1,[2]]"), HasSubstr("mixed"));
  EXPECT_THAT(Mistake("[[2],1]"), HasSubstr("mixed"));
  EXPECT_THAT(Mistake("[1,2"), HasSubstr("missing"));
  EXPECT_THAT(Mistake("[1 2]"), HasSubstr("'1 2'"));
  EXPECT_THAT(Mistake("[1],2"), HasSubstr("',2' is left over"));
  EXPECT_THAT(Mistake("[1,,2]"), HasSubstr("a value is missing"));
  EXPECT_THAT(Mistake(""), HasSubstr("a value is missing"));
  EXPECT_THAT(Mistake("abc"), HasSubstr("'abc' is not float32"));
  EXPECT_THAT(Mistake("3.5", DType::kInt32), HasSubstr("'3.5' is not int32"));
  EXPECT_THAT(Mistake("128", DType::kInt8), HasSubstr("'128' is not int8"));
  EXPECT_THAT(Mistake("-1", DType::kUint64), HasSubstr("'-1' is not uint64"));
  EXPECT_THAT(Mistake("1e39", DType::kFloat), HasSubstr("not float32"));
  EXPECT_THAT(Mistake("1e6", DType::kHalf), HasSubstr("not float16"));
  EXPECT_THAT(Mistake("\"1\"", DType::kFloat), HasSubstr("not float32"));
  EXPECT_THAT(Mistake("j", DType::kComplex64), HasSubstr("not complex64"));
  EXPECT_THAT(Mistake("0", DType::kResource), HasSubstr("cannot be typed in"));
  EXPECT_THAT(Mistake(std::string(100000, '[')), HasSubstr("too deep"));
}

TEST(Feed, FromFiles) {
  const test::TempFolder folder;
  const Tensor vector = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(WriteNpy(folder.Path("v.npy"), vector).ok());
  ASSERT_TRUE(WriteSafetensors(folder.Path("v.safetensors"),
                               {{"v:0", vector}, {"w", Tensor::Scalar<int64_t>(4)}})
                  .ok());

  EXPECT_THAT(
      ReadFeed("@" + folder.Path("v.npy"), DType::kFloat, PartialShape(Dims{-1}))->values<float>(),
      ElementsAre(1, 2));
  EXPECT_THAT(
      ReadFeed("@" + folder.Path("v.safetensors:v:0"), DType::kInvalid, kAny)->values<float>(),
      ElementsAre(1, 2));
  EXPECT_EQ(
      ReadFeed("@" + folder.Path("v.safetensors:w"), DType::kInvalid, kAny)->scalar<int64_t>(), 4);

  const auto mistake = [&](const std::string& spec, DType dtype, const PartialShape& shape = kAny) {
    return std::string(ReadFeed("@" + folder.Path(spec), dtype, shape).status().message());
  };
  EXPECT_THAT(mistake("v.npy", DType::kInt32),
              HasSubstr("int32 is wanted, the file holds float32[2]"));
  EXPECT_THAT(mistake("v.npy", DType::kFloat, PartialShape(Dims{3})),
              HasSubstr("float32[3] is wanted"));
  EXPECT_THAT(mistake("v.safetensors", DType::kFloat),
              HasSubstr("several tensors; name one behind a colon: it has v:0, w"));
  EXPECT_THAT(mistake("v.safetensors:V:0", DType::kFloat), HasSubstr("did you mean 'v:0'?"));
  EXPECT_THAT(mistake("none.npy", DType::kFloat), HasSubstr("No such file"));
  EXPECT_THAT(mistake("v.csv", DType::kFloat), HasSubstr("neither FILE.npy nor FILE.safetensors"));
}

}  // namespace
}  // namespace gyre::cli
