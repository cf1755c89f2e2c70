// Shape, Size, Rank, Reshape, Squeeze, ExpandDims, EnsureShape, Fill, ZerosLike, OnesLike, Bitcast.
#include "ops/array_testing.h"

namespace gyre::array_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> DimsOf(const Tensor& t) {
  return std::vector<int64_t>(t.shape().dims().begin(), t.shape().dims().end());
}

TEST(ShapeTest, GivesDimensionsSizeAndRankOfEveryType) {
  for (const DType dtype : AllDTypes()) {
    const Tensor x = Count(dtype, MakeShape({2, 0, 5}));
    EXPECT_THAT(Call("Shape", {x}).values<int32_t>(), ElementsAre(2, 0, 5)) << DTypeName(dtype);
    EXPECT_EQ(Call("Size", {x}).scalar<int32_t>(), 0);
    EXPECT_EQ(Call("Rank", {x}).scalar<int32_t>(), 3);
  }
  EXPECT_THAT(Call("Shape", {Int32(4)}).values<int32_t>(), IsEmpty());
  EXPECT_EQ(Call("Size", {Int32(4)}, Attrs({{"out_type", DType::kInt64}})).scalar<int64_t>(), 1);
}

TEST(ShapeTest, ShapeNGivesOneShapePerInput) {
  const auto shapes = EvaluateOp("ShapeN", {Int32s({1, 2}), Int32(3)});
  ASSERT_TRUE(shapes.ok());
  EXPECT_THAT((*shapes)[0].values<int32_t>(), ElementsAre(2));
  EXPECT_THAT((*shapes)[1].values<int32_t>(), IsEmpty());
}

TEST(ShapeTest, DimensionBeyond32BitsNeedsInt64) {
  const Tensor x = *Tensor::Make(DType::kFloat, MakeShape({int64_t{1} << 33, 0}));
  EXPECT_THAT(Fails("Shape", {x}), IsInvalid("32-bit"));
  EXPECT_EQ(Call("Shape", {x}, Attrs({{"out_type", DType::kInt64}})).values<int64_t>()[0],
            int64_t{1} << 33);
}

TEST(ShapeTest, IsKnownBeforeRunning) {
  const auto known = Known::Of(DType::kFloat, Partial({2, -1}));
  EXPECT_EQ(Inferred("Shape", {known}), "[2]");
  EXPECT_EQ(InferredList("Shape", {known}), "[2,?]");
  EXPECT_EQ(Inferred("Shape", {Known::Of(DType::kFloat, PartialShape())}), "[?]");
  const auto size = Infer("Size", {Known::Of(DType::kFloat, Partial({2, 3}))});
  EXPECT_EQ((*size)[0].constant.scalar<int32_t>(), 6);
  EXPECT_FALSE((*Infer("Size", {known}))[0].constant.has_value());
  EXPECT_EQ((*Infer("Rank", {known}))[0].constant.scalar<int32_t>(), 2);
}

TEST(ReshapeTest, KeepsElementsAndSharesTheBuffer) {
  for (const DType dtype : AllDTypes()) {
    const Tensor x = Count(dtype, MakeShape({2, 3}));
    const Tensor y = Call("Reshape", {x, Int32s({3, -1})});
    EXPECT_THAT(DimsOf(y), ElementsAre(3, 2)) << DTypeName(dtype);
    EXPECT_EQ(Numbers(y), Numbers(x)) << DTypeName(dtype);
    EXPECT_EQ(y.raw_data(), x.raw_data());
  }
}

TEST(ReshapeTest, BetweenScalarAndVectorOfOne) {
  for (const DType dtype : AllDTypes()) {
    const Tensor one = Call("Reshape", {Count(dtype, Shape()), Int32s({1})});
    EXPECT_THAT(DimsOf(one), ElementsAre(1));
    EXPECT_THAT(Numbers(one), ElementsAre(1)) << DTypeName(dtype);
    const Tensor scalar = Call("Reshape", {one, Int32s({})});
    EXPECT_TRUE(scalar.shape().IsScalar());
    EXPECT_THAT(Numbers(scalar), ElementsAre(1)) << DTypeName(dtype);
  }
}

TEST(ReshapeTest, SaysWhatIsWrongWithTheSizes) {
  const Tensor x = Int32s({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Fails("Reshape", {x, Int32s({2, 2})}),
              IsInvalid("Input to reshape is a tensor with 6 values, but the requested shape has "
                        "4"));
  EXPECT_THAT(Fails("Reshape", {x, Int32s({-1, 4})}),
              IsInvalid("requested shape requires a multiple of 4"));
  EXPECT_THAT(Fails("Reshape", {x, Int32s({-1, 2, -1})}),
              IsInvalid("Only one input size may be -1, not both 0 and 2"));
  EXPECT_THAT(Fails("Reshape", {x, Int32s({-2, 3})}), IsInvalid("Size 0 must be non-negative"));
  EXPECT_THAT(Fails("Reshape", {x, Int32s({0, -1})}),
              IsInvalid("requested shape requires a multiple of 0"));
  EXPECT_THAT(Fails("Reshape", {x, Tensor::Vector<int64_t>({int64_t{1} << 62, 8})}),
              IsInvalid("64 bits"));
}

TEST(ReshapeTest, InfersASizeBesideZero) {
  const auto reshaped = [](std::initializer_list<int64_t> from, const Tensor& sizes) {
    const auto dims = DimsOf(Call("Reshape", {Count(DType::kFloat, MakeShape(from)), sizes}));
    return std::vector<int64_t>(dims.begin(), dims.end());
  };
  EXPECT_THAT(reshaped({0, 4}, Int32s({0, -1})), ElementsAre(0, 4));
  EXPECT_THAT(reshaped({0}, Int32s({-1, 0})), ElementsAre(1, 0));
  EXPECT_THAT(reshaped({0, 4}, Int32s({-1, 4})), ElementsAre(0, 4));
  EXPECT_THAT(reshaped({0, 4, 6}, Int32s({0, -1, 3})), ElementsAre(0, 8, 3));
  EXPECT_THAT(reshaped({0, 5}, Int32s({2, 0, -1})), ElementsAre(2, 0, 2));
  EXPECT_EQ(Inferred("Reshape",
                     {Known::Of(DType::kFloat, Partial({0, 4})), Known::Constant(Int32s({0, -1}))}),
            "[0,4]");
  const Tensor huge = Tensor::Vector<int64_t>({0, -1, int64_t{1} << 62, 8});
  EXPECT_THAT(Fails("Reshape", {Int32s({}), huge}), IsInvalid("does not fit 64 bits"));
}

TEST(ReshapeTest, InfersWhatItCan) {
  const auto matrix = Known::Of(DType::kFloat, Partial({4, 6}));
  EXPECT_EQ(Inferred("Reshape", {matrix, Known::Constant(Int32s({-1, 8}))}), "[3,8]");
  EXPECT_EQ(Inferred("Reshape", {Known::Of(DType::kFloat, Partial({-1, 6})),
                                 Known::Constant(Int32s({-1, 8}))}),
            "[?,8]");
  EXPECT_EQ(Inferred("Reshape", {matrix, Known::List({-1, 2})}), "[12,2]");
  EXPECT_EQ(Inferred("Reshape", {matrix, Known::List({-1, -1})}), "[?,?]");
  EXPECT_EQ(Inferred("Reshape", {matrix, Known::Of(DType::kInt32, Partial({3}))}), "[?,?,?]");
  EXPECT_EQ(Inferred("Reshape", {matrix, Known::Of(DType::kInt32, Partial({-1}))}), "?");
  EXPECT_THAT(Infer("Reshape", {matrix, Known::Constant(Int32s({5}))}).status(),
              IsInvalid("24 values"));
}

TEST(SqueezeTest, DropsAllOrTheNamedDimensions) {
  const Tensor x = Count(DType::kFloat, MakeShape({1, 3, 1}));
  EXPECT_THAT(DimsOf(Call("Squeeze", {x})), ElementsAre(3));
  const AttrMap last = Attrs({{"squeeze_dims", std::vector<int64_t>{-1}}});
  EXPECT_THAT(DimsOf(Call("Squeeze", {x}, last)), ElementsAre(1, 3));
  EXPECT_THAT(Fails("Squeeze", {x}, Attrs({{"squeeze_dims", std::vector<int64_t>{1}}})),
              IsInvalid("Can not squeeze dim[1], expected a dimension of 1, got 3"));
  EXPECT_THAT(Fails("Squeeze", {x}, Attrs({{"squeeze_dims", std::vector<int64_t>{3}}})),
              IsInvalid("Tried to squeeze dim index 3 for tensor with 3 dimensions."));
  EXPECT_EQ(Inferred("Squeeze", {Known::Of(DType::kFloat, Partial({1, -1}))}), "?");
  EXPECT_EQ(Inferred("Squeeze", {Known::Of(DType::kFloat, Partial({-1, -1}))}, last), "[?]");
}

TEST(ExpandDimsTest, InsertsADimension) {
  const Tensor x = Count(DType::kString, MakeShape({2, 3}));
  EXPECT_THAT(DimsOf(Call("ExpandDims", {x, Int32(0)})), ElementsAre(1, 2, 3));
  EXPECT_THAT(DimsOf(Call("ExpandDims", {x, Int32(-1)})), ElementsAre(2, 3, 1));
  EXPECT_THAT(DimsOf(Call("ExpandDims", {x, Int32s({1})})), ElementsAre(2, 1, 3));
  EXPECT_THAT(Fails("ExpandDims", {x, Int32(3)}),
              IsInvalid("Tried to expand dim index 3 for tensor with 2 dimensions."));
  const auto known = Known::Of(DType::kFloat, Partial({2, -1}));
  EXPECT_EQ(Inferred("ExpandDims", {known, Known::Constant(Int32(1))}), "[2,1,?]");
  EXPECT_EQ(Inferred("ExpandDims", {known, Known::Of(DType::kInt32, Partial({}))}), "[?,?,?]");
}

TEST(ExpandDimsTest, StopsAtTheLargestRank) {
  const Tensor x = *Tensor::Make(DType::kFloat, Shape::Trusted(Dims(254, 1)));
  EXPECT_THAT(Fails("ExpandDims", {x, Int32(0)}), IsInvalid("at most 254 dimensions"));
}

TEST(EnsureShapeTest, PassesWhatFitsAndRefusesWhatDoesNot) {
  const AttrMap promise = Attrs({{"shape", Partial({-1, 2})}});
  EXPECT_EQ(Numbers(Call("EnsureShape", {Count(DType::kHalf, MakeShape({3, 2}))}, promise)),
            Numbers(Count(DType::kHalf, MakeShape({6}))));
  EXPECT_THAT(Fails("EnsureShape", {Int32s({1, 2})}, promise),
              IsInvalid("Shape of tensor input [2] is not compatible with expected shape [?,2]."));
  EXPECT_EQ(Inferred("EnsureShape", {Known::Of(DType::kFloat, Partial({4, -1}))}, promise),
            "[4,2]");
}

TEST(FillTest, RepeatsAValueOfEveryType) {
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("Fill", {Int32s({2, 1}), Count(dtype, Shape())});
    EXPECT_THAT(Numbers(y), ElementsAre(1, 1)) << DTypeName(dtype);
  }
  EXPECT_TRUE(Call("Fill", {Int32s({}), Int32(7)}).shape().IsScalar());
  EXPECT_THAT(Fails("Fill", {Int32s({-1}), Int32(7)}), IsInvalid("must be >= 0"));
  EXPECT_THAT(Fails("Fill", {Int32s({1}), Int32s({7, 8})}), IsInvalid("value must be a scalar"));
  EXPECT_EQ(Inferred("Fill", {Known::List({2, -1}), Known::Of(DType::kFloat, Partial({}))}),
            "[2,?]");
}

TEST(FillTest, OverBudgetIsAnError) {
  const Tensor dims = Tensor::Vector<int64_t>({int64_t{1} << 39, int64_t{1} << 20});
  EXPECT_TRUE(absl::IsResourceExhausted(Fails("Fill", {dims, Tensor::Scalar<float>(1)})));
}

TEST(LikeTest, ZerosAndOnes) {
  EXPECT_THAT(Numbers(Call("ZerosLike", {Count(DType::kString, MakeShape({2}))})),
              ElementsAre(0, 0));
  EXPECT_THAT(Call("ZerosLike", {Tensor::Vector<double>({1, -2})}).values<double>(),
              ElementsAre(0, 0));
  EXPECT_THAT(Call("OnesLike", {Tensor::Vector<complex64>({{3, 4}})}).values<complex64>(),
              ElementsAre(complex64(1, 0)));
  EXPECT_EQ(static_cast<float>(Call("OnesLike", {Tensor::Scalar(Half(7))}).scalar<Half>()), 1);
  EXPECT_EQ(Call("OnesLike", {Tensor::Scalar(false)}).scalar<bool>(), true);
  EXPECT_TRUE(absl::IsUnimplemented(Fails("ZerosLike", {Count(DType::kResource, Shape())})));
  EXPECT_THAT(Fails("ZerosLike", {Count(DType::kVariant, Shape())}),
              IsInvalid("there is no zero of Numbered"));
}

TEST(BitcastTest, SplitsAndJoinsElements) {
  const Tensor x = Tensor::Vector<int32_t>({1, 256});
  const Tensor bytes = Call("Bitcast", {x}, Attrs({{"type", DType::kUint8}}));
  EXPECT_THAT(DimsOf(bytes), ElementsAre(2, 4));
  EXPECT_THAT(bytes.values<uint8_t>(), ElementsAre(1, 0, 0, 0, 0, 1, 0, 0));
  const Tensor back = Call("Bitcast", {bytes}, Attrs({{"type", DType::kInt32}}));
  EXPECT_THAT(back.values<int32_t>(), ElementsAre(1, 256));
  EXPECT_EQ(
      Call("Bitcast", {Tensor::Scalar(1.0f)}, Attrs({{"type", DType::kInt32}})).scalar<int32_t>(),
      0x3f800000);
  EXPECT_THAT(Fails("Bitcast", {Tensor::Vector<uint8_t>({1, 2})}, Attrs({{"type", DType::kInt32}})),
              IsInvalid("must be 4"));
}

}  // namespace
}  // namespace gyre::array_testing
