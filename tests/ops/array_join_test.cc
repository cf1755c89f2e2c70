// Concat, Pack, Unpack, Split, Tile, BroadcastTo, Pad: tensors joined, cut, repeated and bordered.
#include "ops/array_testing.h"

namespace gyre::array_testing {
namespace {

using ::testing::ElementsAre;

TEST(ConcatTest, JoinsEveryTypeAlongAnyAxis) {
  for (const DType dtype : AllDTypes()) {
    const Tensor a = Count(dtype, MakeShape({2, 2}));
    const Tensor b = Count(dtype, MakeShape({2, 1}));
    const Tensor c = Call("ConcatV2", {a, b, Int32(-1)});
    EXPECT_EQ(c.shape(), MakeShape({2, 3}));
    EXPECT_THAT(Numbers(c), ElementsAre(1, 2, 1, 3, 4, 2)) << DTypeName(dtype);
    EXPECT_THAT(Numbers(Call("Concat", {Int32(0), b, b})), ElementsAre(1, 2, 1, 2));
  }
}

TEST(ConcatTest, WithOneInputThatIsNotEmptyIsThatInput) {
  const Tensor x = Count(DType::kFloat, MakeShape({2, 3}));
  const Tensor empty = Count(DType::kFloat, MakeShape({0, 3}));
  EXPECT_EQ(Call("ConcatV2", {empty, x, empty, Int32(0)}).raw_data(), x.raw_data());
}

TEST(ConcatTest, SaysWhatDoesNotFit) {
  const Tensor a = Count(DType::kFloat, MakeShape({2, 3}));
  EXPECT_THAT(Fails("ConcatV2", {a, Count(DType::kFloat, MakeShape({3, 4})), Int32(0)}),
              IsInvalid("Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = "
                        "[3,4]"));
  EXPECT_THAT(Fails("ConcatV2", {a, Count(DType::kFloat, MakeShape({3})), Int32(0)}),
              IsInvalid("Ranks of all input tensors should match"));
  EXPECT_THAT(Fails("ConcatV2", {a, a, Int32(2)}), IsInvalid("range [-2, 2), but got 2"));
  EXPECT_THAT(Fails("ConcatV2", {Int32(1), Int32(1), Int32(0)}), IsInvalid("[0, 0)"));
}

TEST(ConcatTest, InfersShapesAndLists) {
  const auto f = [](PartialShape shape) { return Known::Of(DType::kFloat, std::move(shape)); };
  const auto axis = Known::Constant(Int32(0));
  EXPECT_EQ(Inferred("ConcatV2", {f(Partial({2, -1})), f(Partial({3, 5})), axis}), "[5,5]");
  EXPECT_EQ(Inferred("ConcatV2", {f(Partial({2, -1})), f(PartialShape()), axis}), "[?,?]");
  EXPECT_EQ(InferredList("ConcatV2", {Known::List({2, -1}), Known::Constant(Int32s({7})), axis}),
            "[2,?,7]");
  EXPECT_THAT(Infer("ConcatV2", {f(Partial({2, 4})), f(Partial({3, 5})), axis}).status(),
              IsInvalid("must be equal"));
}

TEST(ConcatOffsetTest, SaysWhereEachShapeBegins) {
  const auto offsets =
      EvaluateOp("ConcatOffset", {Int32(1), Int32s({2, 3}), Int32s({2, 5}), Int32s({2, 1})});
  ASSERT_TRUE(offsets.ok()) << offsets.status();
  EXPECT_THAT((*offsets)[0].values<int32_t>(), ElementsAre(0, 0));
  EXPECT_THAT((*offsets)[1].values<int32_t>(), ElementsAre(0, 3));
  EXPECT_THAT((*offsets)[2].values<int32_t>(), ElementsAre(0, 8));
  EXPECT_THAT(Fails("ConcatOffset", {Int32(1), Int32s({2, 3}), Int32s({3, 5})}),
              IsInvalid("All dimensions except 1 must match. Input 1 has shape [3,5] and doesn't "
                        "match input 0 with shape [2,3]"));
  EXPECT_THAT(Fails("ConcatOffset", {Int32(2), Int32s({2, 3}), Int32s({2, 5})}),
              IsInvalid("Concat dim is out of range: 2 vs. 2"));
}

TEST(PackTest, StacksEveryTypeAndUnpackTakesItApart) {
  for (const DType dtype : AllDTypes()) {
    const Tensor x = Count(dtype, MakeShape({2, 3}));
    for (int64_t axis = -3; axis < 3; ++axis) {
      const Tensor packed = Call("Pack", {x, x}, Attrs({{"axis", axis}}));
      ASSERT_EQ(packed.rank(), 3);
      const auto parts =
          EvaluateOp("Unpack", {packed}, Attrs({{"axis", axis}, {"num", int64_t{2}}}));
      ASSERT_TRUE(parts.ok()) << parts.status();
      for (const Tensor& part : *parts) {
        EXPECT_EQ(part.shape(), x.shape());
        EXPECT_EQ(Numbers(part), Numbers(x)) << DTypeName(dtype) << " axis " << axis;
      }
    }
    const Tensor vector = Call("Pack", {Count(dtype, Shape()), Count(dtype, Shape())});
    EXPECT_THAT(Numbers(vector), ElementsAre(1, 1));
  }
}

TEST(PackTest, PutsElementsWhereTheAxisSays) {
  const Tensor a = Int32s({1, 2}), b = Int32s({3, 4});
  EXPECT_THAT(Numbers(Call("Pack", {a, b})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Numbers(Call("Pack", {a, b}, Attrs({{"axis", int64_t{1}}}))),
              ElementsAre(1, 3, 2, 4));
}

TEST(PackTest, SaysWhatDoesNotFit) {
  EXPECT_THAT(Fails("Pack", {Int32s({1, 2}), Int32s({1, 2, 3})}),
              IsInvalid("values[0].shape = [2] != values[1].shape = [3]"));
  EXPECT_THAT(Fails("Pack", {Int32s({1})}, Attrs({{"axis", int64_t{2}}})),
              IsInvalid("axis = 2 not in [-2, 2)"));
  EXPECT_THAT(Fails("Unpack", {Int32s({1, 2})}, Attrs({{"num", int64_t{3}}})),
              IsInvalid("Input shape axis 0 must equal 3, got shape [2]"));
  EXPECT_THAT(Fails("Unpack", {Int32(1)}, Attrs({{"num", int64_t{1}}})),
              IsInvalid("not in [0, 0)"));
}

TEST(PackTest, ScalarsMakeAList) {
  const auto unknown = Known::Of(DType::kInt32, PartialShape::Scalar());
  EXPECT_EQ(InferredList("Pack", {unknown, Known::Constant(Int32(4))}), "[?,4]");
  EXPECT_EQ(Inferred("Pack", {unknown, unknown}), "[2]");
  EXPECT_EQ(Inferred("Pack",
                     {Known::Of(DType::kFloat, Partial({-1, 3})),
                      Known::Of(DType::kFloat, Partial({2, -1}))},
                     Attrs({{"axis", int64_t{-1}}})),
            "[2,3,2]");
  const auto parts = Infer("Unpack", {Known::List({5, -1})}, Attrs({{"num", int64_t{2}}}));
  EXPECT_EQ((*parts)[0].constant.scalar<int32_t>(), 5);
  EXPECT_FALSE((*parts)[1].constant.has_value());
}

TEST(SplitTest, CutsEveryTypeIntoEqualPieces) {
  for (const DType dtype : AllDTypes()) {
    const Tensor x = Count(dtype, MakeShape({2, 4}));
    const auto columns = EvaluateOp("Split", {Int32(1), x}, Attrs({{"num_split", int64_t{2}}}));
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_THAT(Numbers((*columns)[1]), ElementsAre(3, 4, 7, 8)) << DTypeName(dtype);
    const auto rows = EvaluateOp("Split", {Int32(-2), x}, Attrs({{"num_split", int64_t{2}}}));
    EXPECT_THAT(Numbers((*rows)[1]), ElementsAre(5, 6, 7, 8)) << DTypeName(dtype);
  }
}

TEST(SplitTest, IntoSizes) {
  const Tensor x = Count(DType::kFloat, MakeShape({5}));
  const AttrMap three = Attrs({{"num_split", int64_t{3}}});
  const auto parts =
      EvaluateOp("SplitV", {x, Tensor::Vector<int64_t>({1, -1, 2}), Int32(0)}, three);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(Numbers((*parts)[0]), ElementsAre(1));
  EXPECT_THAT(Numbers((*parts)[1]), ElementsAre(2, 3));
  EXPECT_THAT(Numbers((*parts)[2]), ElementsAre(4, 5));
  EXPECT_THAT(
      Numbers((*EvaluateOp("SplitV", {x, Tensor::Vector<int8_t>({0, 5, 0}), Int32(0)}, three))[1]),
      ElementsAre(1, 2, 3, 4, 5));
}

TEST(SplitTest, SaysWhatDoesNotFit) {
  const Tensor x = Count(DType::kFloat, MakeShape({5}));
  EXPECT_THAT(Fails("Split", {Int32(0), x}, Attrs({{"num_split", int64_t{2}}})),
              IsInvalid("should evenly divide the split dimension, but got split_dim 0 (size = 5) "
                        "and num_split 2"));
  EXPECT_THAT(Fails("Split", {Int32(1), x}, Attrs({{"num_split", int64_t{1}}})),
              IsInvalid("but got 1"));
  const AttrMap two = Attrs({{"num_split", int64_t{2}}});
  EXPECT_THAT(Fails("SplitV", {x, Int32s({-1, -1}), Int32(0)}, two), IsInvalid("only be one -1"));
  EXPECT_THAT(Fails("SplitV", {x, Int32s({3, 3}), Int32(0)}, two), IsInvalid("Got: 6"));
  EXPECT_THAT(Fails("SplitV", {x, Int32s({-2, 7}), Int32(0)}, two), IsInvalid("at index 0"));
  EXPECT_THAT(Fails("SplitV", {x, Int32s({5}), Int32(0)}, two), IsInvalid("have 2 elements"));
}

TEST(SplitTest, InfersThePieces) {
  const auto x = Known::Of(DType::kFloat, Partial({6, -1}));
  EXPECT_EQ(Inferred("Split", {Known::Constant(Int32(0)), x}, Attrs({{"num_split", int64_t{3}}})),
            "[2,?]");
  EXPECT_EQ(Inferred("Split", {Known::Of(DType::kInt32, PartialShape::Scalar()), x},
                     Attrs({{"num_split", int64_t{3}}})),
            "[?,?]");
  const auto parts =
      Infer("SplitV", {x, Known::Constant(Int32s({1, -1})), Known::Constant(Int32(0))},
            Attrs({{"num_split", int64_t{2}}}));
  EXPECT_EQ((*parts)[1].shape.ToString(), "[5,?]");
}

TEST(TileTest, RepeatsEveryType) {
  const Shape in = MakeShape({2, 1, 3});
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("Tile", {Count(dtype, in), Int32s({2, 3, 2})});
    EXPECT_EQ(y.shape(), MakeShape({4, 3, 6}));
    EXPECT_EQ(Numbers(y),
              Moved(y.shape(), in, [](const Index& i) { return Index{i[0] % 2, 0, i[2] % 3}; }))
        << DTypeName(dtype);
  }
}

TEST(TileTest, ChecksItsMultiples) {
  const Tensor x = Count(DType::kFloat, MakeShape({2, 3}));
  EXPECT_EQ(Call("Tile", {x, Int32s({0, 2})}).shape(), MakeShape({0, 6}));
  EXPECT_THAT(Fails("Tile", {x, Int32s({2})}), IsInvalid("vector of length 2"));
  EXPECT_THAT(Fails("Tile", {x, Int32s({2, -1})}),
              IsInvalid("Expected multiples[1] >= 0, but got -1"));
  EXPECT_THAT(Fails("Tile", {x, Tensor::Vector<int64_t>({int64_t{1} << 62, 1})}),
              IsInvalid("64 bits"));
  EXPECT_EQ(Inferred("Tile", {Known::Of(DType::kFloat, Partial({2, -1})), Known::List({3, 2})}),
            "[6,?]");
}

TEST(BroadcastToTest, StretchesEveryType) {
  const Shape in = MakeShape({3, 1});
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("BroadcastTo", {Count(dtype, in), Int32s({2, 3, 4})});
    EXPECT_EQ(Numbers(y),
              Moved(MakeShape({2, 3, 4}), in, [](const Index& i) { return Index{i[1], 0}; }))
        << DTypeName(dtype);
  }
  EXPECT_EQ(Call("BroadcastTo", {Int32s({1}), Int32s({0})}).num_elements(), 0);
  EXPECT_THAT(Fails("BroadcastTo", {Int32s({1, 2}), Int32s({3})}),
              IsInvalid("Incompatible shapes: [2] vs. [3]"));
  EXPECT_THAT(Fails("BroadcastTo", {Int32s({1, 2}), Int32s({})}), IsInvalid("Rank of input (1)"));
}

TEST(PadTest, PutsABorderAroundEveryType) {
  const Shape in = MakeShape({2, 3});
  const Tensor paddings = Tensor::FromValues<int32_t>({1, 0, 2, 1}, MakeShape({2, 2}));
  const auto inner = [](const Index& i) {
    const bool inside = i[0] >= 1 && i[1] >= 2 && i[1] < 5;
    return inside ? Index{i[0] - 1, i[1] - 2} : Index{};
  };
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("Pad", {Count(dtype, in), paddings});
    EXPECT_EQ(y.shape(), MakeShape({3, 6}));
    const auto zeros = Moved(y.shape(), in, inner);
    EXPECT_EQ(Numbers(y), zeros) << DTypeName(dtype);
    auto ones = zeros;  // the border is the element with number 1
    for (int& number : ones) number = std::max(number, 1);
    EXPECT_EQ(Numbers(Call("PadV2", {Count(dtype, in), paddings, Count(dtype, Shape())})), ones);
  }
}

TEST(PadTest, Mirrors) {
  const Tensor x = Tensor::FromValues<int32_t>({1, 2, 3, 4, 5, 6}, MakeShape({2, 3}));
  const Tensor paddings = Tensor::FromValues<int32_t>({1, 1, 2, 2}, MakeShape({2, 2}));
  // numpy.pad(x, ((1, 1), (2, 2)), "reflect") and "symmetric"
  EXPECT_THAT(Numbers(Call("MirrorPad", {x, paddings}, Attrs({{"mode", std::string("REFLECT")}}))),
              ElementsAre(6, 5, 4, 5, 6, 5, 4,  //
                          3, 2, 1, 2, 3, 2, 1,  //
                          6, 5, 4, 5, 6, 5, 4,  //
                          3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(
      Numbers(Call("MirrorPad", {x, paddings}, Attrs({{"mode", std::string("SYMMETRIC")}}))),
      ElementsAre(2, 1, 1, 2, 3, 3, 2,  //
                  2, 1, 1, 2, 3, 3, 2,  //
                  5, 4, 4, 5, 6, 6, 5,  //
                  5, 4, 4, 5, 6, 6, 5));
  EXPECT_THAT(
      Fails("MirrorPad", {Int32s({1, 2}), Tensor::FromValues<int32_t>({2, 0}, MakeShape({1, 2}))},
            Attrs({{"mode", std::string("REFLECT")}})),
      IsInvalid("paddings must be less than the dimension size: 2, 0 not less than 2"));
}

TEST(PadTest, ChecksItsPaddings) {
  const Tensor x = Int32s({1});
  EXPECT_THAT(Fails("Pad", {x, Int32s({1, 1})}), IsInvalid("matrix with 2 columns: [2]"));
  EXPECT_THAT(Fails("Pad", {x, Tensor::FromValues<int32_t>({1, 1, 1, 1}, MakeShape({2, 2}))}),
              IsInvalid("must be the rank of inputs"));
  EXPECT_THAT(Fails("Pad", {x, Tensor::FromValues<int32_t>({-1, 2}, MakeShape({1, 2}))}),
              IsInvalid("Paddings must be non-negative: -1 2"));
  const Tensor paddings = Tensor::FromValues<int32_t>({1, 2, 0, 0}, MakeShape({2, 2}));
  EXPECT_EQ(
      Inferred("Pad", {Known::Of(DType::kFloat, Partial({3, -1})), Known::Constant(paddings)}),
      "[6,?]");
}

}  // namespace
}  // namespace gyre::array_testing
