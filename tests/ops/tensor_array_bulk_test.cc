// TensorArrays, many elements at once (gather, scatter, concat, split), and their gradient arrays.
#include "ops/tensor_arrays.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Array;
using test::Attrs;
using test::Holds;
using test::InferShapes;
using test::IsInvalid;
using test::Partial;
using test::ResourceRun;
using test::Says;
using test::Values;

Tensor F(float value) { return Tensor::Scalar(value); }
Tensor Vec(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Rows(std::initializer_list<float> values, int64_t rows, int64_t columns) {
  return Tensor::FromValues<float>(values, test::ShapeOf({rows, columns}));
}

TEST(TensorArrayGather, StacksTheNamedElements) {
  ResourceRun run;
  const Array array(run, 3, Attrs({{"clear_after_read", false}}));
  EXPECT_TRUE(array.Scatter({2, 0, 1}, Rows({5, 6, 1, 2, 3, 4}, 3, 2)).ok());
  EXPECT_TRUE(Holds(array.Gather({0, 1, 2}), {3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(Holds(array.Gather({2, 2}), {2, 2}, {5, 6, 5, 6}));
  EXPECT_TRUE(Holds(array.Read(1), {2}, {3, 4}));
}

TEST(TensorArrayGather, ReadsEveryElementAsReadDoes) {
  ResourceRun run;
  const Array array(run, 3);
  EXPECT_TRUE(array.Scatter({0, 1}, Vec({1, 2})).ok());
  EXPECT_TRUE(IsInvalid(array.Gather({3}).status(), "Tried to read from index 3"));
  EXPECT_TRUE(IsInvalid(array.Gather({-1}).status(), "Tried to read from index -1"));
  EXPECT_TRUE(IsInvalid(array.Gather({2}).status(), "it has not been written to"));
  EXPECT_TRUE(IsInvalid(array.Gather({0, 0}).status(), "Could not read index 0 twice"));
  EXPECT_TRUE(Holds(array.Gather({1}), {1}, {2}));
  EXPECT_TRUE(IsInvalid(array.Read(1).status(), "Could not read index 1 twice"));
}

TEST(TensorArrayGather, OfNothingNeedsAKnownShape) {
  ResourceRun run;
  const Array array(run, 0);
  EXPECT_TRUE(Says(array.Gather({}).status(), StatusCode::kUnimplemented, "nothing to gather"));
  EXPECT_TRUE(Holds(array.Gather({}, Partial({2})), {0, 2}, {}));
  EXPECT_TRUE(
      Holds(Array(run, 3, Attrs({{"element_shape", Partial({4})}})).Gather({}), {0, 4}, {}));
}

TEST(TensorArrayGather, ChecksShapes) {
  ResourceRun run;
  const Array array(run, 2, Attrs({{"clear_after_read", false}}));
  EXPECT_TRUE(array.Write(0, Vec({1, 2})).ok());
  EXPECT_TRUE(array.Write(1, F(1)).ok());
  EXPECT_TRUE(IsInvalid(array.Gather({0, 1}).status(),
                        "TensorArray has inconsistent shapes.  Index 0 has shape: [2] but index 1 "
                        "has shape: []"));
  EXPECT_TRUE(IsInvalid(array.Gather({0}, Partial({3})).status(),
                        "TensorArray was passed element_shape [3] which does not match the Tensor "
                        "at index 0: [2]"));
  const Array pairs(run, 1, Attrs({{"element_shape", Partial({2})}}));
  EXPECT_TRUE(IsInvalid(pairs.Gather({0}, Partial({3})).status(), "incompatible"));
  EXPECT_TRUE(IsInvalid(
      run.Error("TensorArrayGatherV3", {array.handle(), Tensor::Scalar<int32_t>(0), Array::Flow()},
                Attrs({{"dtype", DType::kFloat}})),
      "Expected indices to be a vector, but received shape: []"));
}

TEST(TensorArrayGather, TellsTheArrayTheShapeOfWhatIsNotWrittenYet) {
  ResourceRun run;
  const Array array(run, 3);
  EXPECT_TRUE(array.Write(0, Vec({1, 3})).ok());
  EXPECT_TRUE(Holds(array.Gather({0, 1}, Partial({2})), {2, 2}, {1, 3, 0, 0}));
  EXPECT_TRUE(Holds(array.Read(2), {2}, {0, 0}));
}

TEST(TensorArrayScatter, WritesEveryRowAsWriteDoes) {
  ResourceRun run;
  const Array array(run, 2);
  EXPECT_TRUE(array.Write(0, F(1)).ok());
  EXPECT_TRUE(IsInvalid(array.Scatter({1, 0}, Vec({2, 3})), "index 0 because it has already been"));
  EXPECT_TRUE(IsInvalid(array.Scatter({-1}, Vec({2})), "Tried to write to index -1"));
  EXPECT_TRUE(
      IsInvalid(array.Scatter({2}, Vec({2})), "Max scatter index must be < array size (2 vs. 2)"));
  EXPECT_TRUE(IsInvalid(array.Scatter({0, 1}, Vec({2, 3, 4})),
                        "Expected len(indices) == values.shape[0], but saw: 2 vs. 3"));
  EXPECT_TRUE(IsInvalid(array.Scatter({0}, F(1)), "must be at least a vector"));
  const Array typed(run, 1, Attrs({{"element_shape", Partial({3})}}));
  EXPECT_TRUE(IsInvalid(typed.Scatter({0}, Rows({1, 2}, 1, 2)), "the value shape is [2]"));
}

TEST(TensorArrayScatter, MakesADynamicArrayGrow) {
  ResourceRun run;
  const Array array(run, 0, Attrs({{"dynamic_size", true}}));
  EXPECT_TRUE(array.Scatter({4, 1}, Vec({5, 2})).ok());
  EXPECT_EQ(array.Size(), 5);
  EXPECT_TRUE(Holds(array.Gather({1, 4}), {2}, {2, 5}));
  EXPECT_TRUE(array.Scatter({}, Vec({})).ok());
  EXPECT_EQ(array.Size(), 5);
}

TEST(TensorArrayScatter, ElementsLiveOnWithoutTheTensorTheyCameFrom) {
  ResourceRun run;
  const Array array(run, 2);
  {
    Tensor rows = Rows({1, 2, 3, 4}, 2, 2);
    EXPECT_TRUE(array.Scatter({0, 1}, std::move(rows)).ok());
  }
  EXPECT_TRUE(Holds(array.Read(1), {2}, {3, 4}));
}

TEST(TensorArrayConcat, JoinsRowsAndTellsTheLengths) {
  ResourceRun run;
  const Array array(run, 3, Attrs({{"clear_after_read", false}}));
  EXPECT_TRUE(array.Write(0, Rows({1, 2}, 1, 2)).ok());
  EXPECT_TRUE(array.Write(1, Rows({}, 0, 2)).ok());
  EXPECT_TRUE(array.Write(2, Rows({3, 4, 5, 6}, 2, 2)).ok());
  const auto joined = array.Concat(Partial({2}));
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE(Holds((*joined)[0], {3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Values<int64_t>((*joined)[1]), (std::vector<int64_t>{1, 0, 2}));
  EXPECT_TRUE(IsInvalid(array.Concat(Partial({3})).status(),
                        "TensorArray was passed element_shape_except0 [3] but index 0 has "
                        "(excepting dimension 0) shape: [2]"));
}

TEST(TensorArrayConcat, OfAnArrayWithoutElementsNeedsAKnownShape) {
  ResourceRun run;
  const Array array(run, 0);
  EXPECT_TRUE(Says(array.Concat().status(), StatusCode::kUnimplemented,
                   "TensorArray has size zero, but element_shape_except0"));
  const auto nothing = array.Concat(Partial({2}));
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_TRUE(Holds((*nothing)[0], {0, 2}, {}));
  EXPECT_EQ((*nothing)[1].shape(), Shape::Vector(0));
}

TEST(TensorArrayConcat, ChecksElements) {
  ResourceRun run;
  const Array scalars(run, 2);
  EXPECT_TRUE(scalars.Scatter({0, 1}, Vec({1, 2})).ok());
  EXPECT_TRUE(IsInvalid(scalars.Concat().status(),
                        "Concat saw a scalar shape at index 0 but requires at least vectors"));
  const Array ragged(run, 2);
  EXPECT_TRUE(ragged.Write(0, Rows({1}, 1, 1)).ok());
  EXPECT_TRUE(ragged.Write(1, Rows({1, 2}, 1, 2)).ok());
  EXPECT_TRUE(IsInvalid(ragged.Concat().status(),
                        "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) "
                        "shape: [1] but index 1 has (excepting dimension 0) shape: [2]"));
  const Array holes(run, 2, Attrs({{"element_shape", Partial({2})}}));
  EXPECT_TRUE(holes.Write(1, Vec({1, 2})).ok());
  EXPECT_TRUE(Holds((*holes.Concat())[0], {4}, {0, 0, 1, 2}));
}

TEST(TensorArraySplit, TakesApartWhatConcatJoins) {
  ResourceRun run;
  const Array array(run, 3);
  EXPECT_TRUE(array.Split(Rows({1, 2, 3, 4, 5, 6}, 3, 2), {1, 0, 2}).ok());
  EXPECT_TRUE(Holds(array.Read(0), {1, 2}, {1, 2}));
  EXPECT_TRUE(Holds(array.Read(1), {0, 2}, {}));
  EXPECT_TRUE(Holds(array.Read(2), {2, 2}, {3, 4, 5, 6}));
}

TEST(TensorArraySplit, ChecksLengths) {
  ResourceRun run;
  const Array array(run, 2);
  const Tensor three = Vec({1, 2, 3});
  EXPECT_TRUE(IsInvalid(array.Split(three, {1, 1}),
                        "Expected sum of lengths to be equal to values.shape[0], but sum of "
                        "lengths is 2 and value's shape is: [3]"));
  EXPECT_TRUE(IsInvalid(array.Split(three, {4, -1}), "lengths[1] = -1 is not a length"));
  EXPECT_TRUE(IsInvalid(array.Split(three, {INT64_MAX, INT64_MAX}), "lengths[1]"));
  EXPECT_TRUE(IsInvalid(array.Split(F(1), {1}), "Expected value to be at least a vector"));
  const std::string wrong_size = "TensorArray's size is not equal to the size of lengths (";
  EXPECT_TRUE(IsInvalid(array.Split(three, {3}), wrong_size + "2 vs. 1)"));
  EXPECT_TRUE(IsInvalid(array.Split(three, {1, 1, 1}), wrong_size + "2 vs. 3)"));
  const Array dynamic(run, 2, Attrs({{"dynamic_size", true}}));
  EXPECT_TRUE(IsInvalid(dynamic.Split(three, {3}), wrong_size + "2 vs. 1)"));
  EXPECT_TRUE(dynamic.Split(three, {1, 1, 1}).ok());
  EXPECT_EQ(dynamic.Size(), 3);
}

TEST(TensorArrayGradient, AddsUpWhatIsWritten) {
  ResourceRun run;
  const Array array(run, 2);
  EXPECT_TRUE(array.Scatter({0, 1}, Rows({1, 2, 3, 4}, 2, 2)).ok());
  const Array gradient = array.Gradient("g");
  const Tensor first = Vec({10, 20});
  EXPECT_TRUE(gradient.Write(0, first).ok());
  EXPECT_TRUE(gradient.Write(0, Vec({1, 2})).ok());
  EXPECT_TRUE(gradient.Scatter({0}, Rows({100, 200}, 1, 2)).ok());
  EXPECT_EQ(Values<float>(first), (std::vector<float>{10, 20}));
  EXPECT_TRUE(Holds(gradient.Read(0), {2}, {111, 222}));
  EXPECT_TRUE(Holds(gradient.Read(1), {2}, {0, 0}));  // zeros of what it is the gradient of
  EXPECT_TRUE(IsInvalid(gradient.Read(0).status(), "Could not read index 0 twice"));
  EXPECT_TRUE(IsInvalid(gradient.Write(0, first), "it has already been read"));
  EXPECT_TRUE(Holds(array.Read(0), {2}, {1, 2}));
}

TEST(TensorArrayGradient, IsOnePerSource) {
  ResourceRun run;
  const Array array(run, 1, Attrs({{"element_shape", Partial({})}}));
  EXPECT_TRUE(array.Gradient("a").Write(0, F(1)).ok());
  EXPECT_TRUE(array.Gradient("a").Write(0, F(5)).ok());
  EXPECT_TRUE(array.Gradient("b").Write(0, F(7)).ok());
  EXPECT_TRUE(Holds(array.Gradient("a").Read(0), {}, {6}));
  EXPECT_TRUE(Holds(array.Gradient("b").Read(0), {}, {7}));
}

TEST(TensorArrayGradient, TakesTheShapesOfTheElementsEvenOfThoseReadBefore) {
  ResourceRun run;
  const Array array(run, 3);
  EXPECT_TRUE(array.Write(0, Vec({1, 2})).ok());
  EXPECT_TRUE(array.Write(1, F(1)).ok());
  EXPECT_TRUE(array.Read(0).ok());
  const Array gradient = array.Gradient("g");
  EXPECT_TRUE(IsInvalid(gradient.Write(0, F(1)),
                        "TensorArray ta@g: Could not aggregate to TensorArray index 0 because the "
                        "existing shape is [2] but the new input shape is []."));
  EXPECT_TRUE(Holds(gradient.Read(0), {2}, {0, 0}));
  EXPECT_TRUE(Holds(gradient.Read(1), {}, {0}));
  EXPECT_TRUE(IsInvalid(gradient.Read(2).status(), "the element shape is not fully defined"));
}

TEST(TensorArrayGradient, WithShapeHasMoreDimensionsInFront) {
  ResourceRun run;
  const Array array(run, 2, Attrs({{"element_shape", Partial({-1})}}));
  EXPECT_TRUE(array.Write(0, Vec({1, 2})).ok());
  const Array gradient = array.GradientWithShape("g", {3});
  EXPECT_TRUE(IsInvalid(gradient.Write(1, Vec({1, 2})), "inferred element shape: [3,?]"));
  EXPECT_TRUE(Holds(gradient.Read(0), {3, 2}, {0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(IsInvalid(run.Error("TensorArrayGradWithShape",
                                  {array.handle(), Array::Flow(), Tensor::Vector<int32_t>({-1})},
                                  Attrs({{"source", std::string("other")}})),
                        "-1"));
}

TEST(TensorArrayGradient, FixesTheSizeOfTheArray) {
  ResourceRun run;
  const Array array(run, 1, Attrs({{"dynamic_size", true}, {"element_shape", Partial({})}}));
  EXPECT_TRUE(array.Write(1, F(1)).ok());
  const Array gradient = array.Gradient("g");
  EXPECT_EQ(gradient.Size(), 2);
  EXPECT_TRUE(IsInvalid(array.Write(2, F(1)), "array is not resizeable and size is: 2"));
  EXPECT_TRUE(IsInvalid(gradient.Write(2, F(1)), "array is not resizeable and size is: 2"));
  // What nobody has written yet has the gradient zero, wherever it is.
  EXPECT_TRUE(Holds(gradient.Read(5), {}, {0}));
  EXPECT_EQ(gradient.Size(), 6);
  EXPECT_TRUE(Holds(gradient.Read(3), {}, {0}));
}

TEST(TensorArrayGradient, SumsCannotBeDifferentiatedAgain) {
  ResourceRun run;
  const Array array(run, 1);
  const Array gradient = array.Gradient("g");
  EXPECT_TRUE(gradient.Write(0, F(1)).ok());
  EXPECT_TRUE(gradient.TryGradient("h").ok());
  EXPECT_TRUE(gradient.Write(0, F(1)).ok());
  EXPECT_TRUE(IsInvalid(gradient.TryGradient("i").status(),
                        "gradient calculation is impossible when multiple writes are performed to "
                        "the same index"));
}

TEST(TensorArrayGradient, AddsListsAndRefusesWhatHasNoSum) {
  ResourceRun run;
  const auto list = [&](float value) {
    return run.Run("TensorListFromTensor", {Vec({value}), Tensor::Vector<int32_t>({})},
                   Attrs({{"element_dtype", DType::kFloat}}));
  };
  const Array lists = Array(run, 1, {}, DType::kVariant).Gradient("g");
  EXPECT_TRUE(lists.Write(0, list(1)).ok());
  EXPECT_TRUE(lists.Write(0, list(2)).ok());
  const Tensor sum = lists.Read(0).value_or(Tensor());
  EXPECT_EQ(Values<float>(run.Run("TensorListStack", {sum, Tensor::Vector<int32_t>({})},
                                  Attrs({{"element_dtype", DType::kFloat}}))),
            std::vector<float>{3});
  const Array bools = Array(run, 1, {}, DType::kBool).Gradient("g");
  EXPECT_TRUE(bools.Write(0, Tensor::Scalar(true)).ok());
  EXPECT_TRUE(IsInvalid(bools.Write(0, Tensor::Scalar(true)), "bool"));
}

TEST(TensorArrayBulkShapes, FollowIndicesAndElements) {
  ResourceRun run;
  const Tensor handle = Array(run, 1).handle(), flow = Array::Flow();
  const HandleInfo info{DType::kFloat, Partial({2, -1})};
  const Tensor three = Tensor::Vector<int32_t>({0, 1, 2});
  const AttrMap floats = Attrs({{"dtype", DType::kFloat}});
  EXPECT_EQ((*InferShapes("TensorArrayGatherV3", {handle, three, flow}, floats, info))[0].shape,
            Partial({3, 2, -1}));
  const AttrMap narrow = Attrs({{"dtype", DType::kFloat}, {"element_shape", Partial({-1, 5})}});
  EXPECT_EQ((*InferShapes("TensorArrayGatherV3", {handle, three, flow}, narrow, info))[0].shape,
            Partial({3, 2, 5}));
  const AttrMap wrong = Attrs({{"dtype", DType::kFloat}, {"element_shape", Partial({3, 5})}});
  EXPECT_FALSE(InferShapes("TensorArrayGatherV3", {handle, three, flow}, wrong, info).ok());
  EXPECT_FALSE(
      InferShapes("TensorArrayScatterV3", {handle, three, Vec({1, 2, 3}), flow}, {}, info).ok());
  const auto joined =
      InferShapes("TensorArrayConcatV3", {handle, flow},
                  Attrs({{"dtype", DType::kFloat}, {"element_shape_except0", Partial({7})}}), info);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ((*joined)[0].shape, Partial({-1, 7}));
  EXPECT_EQ((*joined)[1].shape, PartialShape::UnknownOfRank(1));
  EXPECT_FALSE(InferShapes("TensorArraySplitV3", {handle, F(1), Tensor::Vector<int64_t>({1}), flow},
                           {}, info)
                   .ok());
}

}  // namespace
}  // namespace gyre
