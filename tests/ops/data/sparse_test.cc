// Sparse tensors: what must come out was written down from TensorFlow.
#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsEmpty;

Tensor Longs(std::vector<int64_t> values, std::vector<int64_t> dims) {
  return Tensor::FromValues<int64_t>(values, ShapeOf(std::move(dims)));
}
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector(values); }
Tensor Floats(std::vector<float> values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return Tensor::FromValues<float>(values, ShapeOf(std::move(dims)));
}
std::vector<Tensor> All(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  ResourceRun run;
  return run.All(op, std::move(inputs), std::move(attrs));
}

// [[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]]
const Tensor& Indices() {
  static const Tensor* const t = new Tensor(Longs({0, 0, 0, 2, 2, 1}, {3, 2}));
  return *t;
}
const Tensor& Vals() {
  static const Tensor* const t = new Tensor(Floats({1, 2, 3}));
  return *t;
}
const Tensor& Dense34() {
  static const Tensor* const t = new Tensor(Longs({3, 4}, {2}));
  return *t;
}

TEST(SparseMatmul, OfAdjoints) {
  const Tensor b = Floats({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  EXPECT_THAT(Values<float>(Eval("SparseTensorDenseMatMul", {Indices(), Vals(), Dense34(), b})),
              ElementsAre(11, 14, 0, 0, 9, 12));
  const Tensor c = Floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(Values<float>(Eval("SparseTensorDenseMatMul", {Indices(), Vals(), Dense34(), c},
                                 Attrs({{"adjoint_a", true}, {"adjoint_b", true}}))),
              ElementsAre(1, 4, 9, 18, 2, 8, 0, 0));
  EXPECT_TRUE(IsInvalid(
      EvalError("SparseTensorDenseMatMul", {Longs({3, 0}, {1, 2}), Floats({1}), Dense34(), b}),
      "not in a matrix"));
}

TEST(SparseToDense, OfScalarsVectorsAndMatrices) {
  const Tensor one = Tensor::Scalar<float>(1);
  EXPECT_THAT(Values<float>(Eval("SparseToDense", {Tensor::Scalar<int32_t>(2), Ints({4}),
                                                   Tensor::Scalar<float>(5), one})),
              ElementsAre(1, 1, 5, 1));
  EXPECT_THAT(Values<float>(
                  Eval("SparseToDense", {Ints({0, 2}), Ints({4}), Tensor::Scalar<float>(7), one})),
              ElementsAre(7, 1, 7, 1));
  EXPECT_TRUE(IsInvalid(EvalError("SparseToDense", {Ints({2, 0}), Ints({4}), Floats({1, 2}), one}),
                        "out of order"));
  EXPECT_THAT(Values<float>(Eval("SparseToDense", {Ints({2, 0}), Ints({4}), Floats({1, 2}), one},
                                 Attrs({{"validate_indices", false}}))),
              ElementsAre(2, 1, 1, 1));
}

TEST(SparseParts, AreSlicedSplitJoinedAndReordered) {
  const auto slice =
      All("SparseSlice", {Indices(), Vals(), Dense34(), Longs({0, 1}, {2}), Longs({3, 5}, {2})});
  EXPECT_THAT(Values<int64_t>(slice[0]), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(Values<float>(slice[1]), ElementsAre(2, 3));
  EXPECT_THAT(Values<int64_t>(slice[2]), ElementsAre(3, 3));
  const auto split = All("SparseSplit", {Tensor::Scalar<int64_t>(1), Indices(), Vals(), Dense34()},
                         Attrs({{"num_split", int64_t{3}}}));
  EXPECT_THAT(Values<int64_t>(split[0]), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(Values<float>(split[3]), ElementsAre(1, 3));
  EXPECT_THAT(Values<float>(split[4]), ElementsAre(2));
  EXPECT_THAT(Values<float>(split[5]), IsEmpty());
  EXPECT_THAT(Values<int64_t>(split[7]), ElementsAre(3, 1));
  const auto joined =
      All("SparseConcat", {Indices(), Indices(), Vals(), Vals(), Dense34(), Dense34()},
          Attrs({{"N", int64_t{2}}, {"concat_dim", int64_t{-1}}}));
  EXPECT_THAT(Values<float>(joined[1]), ElementsAre(1, 2, 1, 2, 3, 3));
  EXPECT_THAT(Values<int64_t>(joined[2]), ElementsAre(3, 8));
  const auto ordered = All("SparseReorder", {Longs({2, 1, 0, 2, 0, 0}, {3, 2}), Vals(), Dense34()});
  EXPECT_THAT(Values<float>(ordered[1]), ElementsAre(3, 2, 1));
  const auto reshaped = All("SparseReshape", {Indices(), Dense34(), Longs({2, -1}, {2})});
  EXPECT_THAT(Values<int64_t>(reshaped[0]), ElementsAre(0, 0, 0, 2, 1, 3));
  EXPECT_THAT(Values<int64_t>(reshaped[1]), ElementsAre(2, 6));
}

TEST(SparseReduce, AlongAxesNoneAndAll) {
  EXPECT_THAT(Values<float>(
                  Eval("SparseReduceMax", {Indices(), Floats({-1, -2, 3}), Dense34(), Ints({1})})),
              ElementsAre(-1, 0, 3));
  EXPECT_THAT(Values<float>(Eval("SparseReduceSum", {Indices(), Vals(), Dense34(), Ints({})})),
              ElementsAre(1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0));
  const auto kept = All("SparseReduceSumSparse", {Indices(), Vals(), Dense34(), Ints({-1})},
                        Attrs({{"keep_dims", true}}));
  EXPECT_THAT(Values<int64_t>(kept[0]), ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(Values<float>(kept[1]), ElementsAre(3, 3));
  EXPECT_THAT(Values<int64_t>(kept[2]), ElementsAre(3, 1));
  EXPECT_EQ(All("SparseReduceSumSparse", {Indices(), Vals(), Dense34(), Ints({0, 1})})[0].shape(),
            ShapeOf({1, 0}));
}

TEST(SparseValues, MeetDenseAndSparseOnes) {
  const Tensor row = Floats({1, 2, 4, 8});
  EXPECT_THAT(Values<float>(Eval("SparseDenseCwiseDiv", {Indices(), Vals(), Dense34(), row})),
              ElementsAre(1, .5F, 1.5F));
  EXPECT_THAT(Values<float>(Eval("SparseDenseCwiseAdd", {Indices(), Vals(), Dense34(), row})),
              ElementsAre(2, 6, 5));
  const auto larger =
      All("SparseSparseMaximum",
          {Indices(), Vals(), Dense34(), Longs({0, 0, 1, 1}, {2, 2}), Floats({5, -4}), Dense34()});
  EXPECT_THAT(Values<int64_t>(larger[0]), ElementsAre(0, 0, 0, 2, 1, 1, 2, 1));
  EXPECT_THAT(Values<float>(larger[1]), ElementsAre(5, 2, 0, 3));
  EXPECT_THAT(Values<float>(Eval("SparseSoftmax", {Indices(), Floats({0, 0, 7}), Dense34()})),
              ElementsAre(.5F, .5F, 1));
}

TEST(SparseFillEmptyRows, SaysWhereValuesWent) {
  const auto filled =
      All("SparseFillEmptyRows", {Indices(), Vals(), Dense34(), Tensor::Scalar<float>(9)});
  EXPECT_THAT(Values<int64_t>(filled[0]), ElementsAre(0, 0, 0, 2, 1, 0, 2, 1));
  EXPECT_THAT(Values<float>(filled[1]), ElementsAre(1, 2, 9, 3));
  EXPECT_THAT(Values<bool>(filled[2]), ElementsAre(false, true, false));
  EXPECT_THAT(Values<int64_t>(filled[3]), ElementsAre(0, 1, 3));
}

TEST(SparseSegments, GatherAndAddUp) {
  const Tensor data = Floats({1, 2, 3, 4, 5, 6}, {3, 2});
  const std::vector<Tensor> inputs = {data, Ints({0, 2, 1}), Ints({0, 0, 2})};
  EXPECT_THAT(Values<float>(Eval("SparseSegmentSum", inputs)), ElementsAre(6, 8, 0, 0, 3, 4));
  std::vector<Tensor> counted = inputs;
  counted.push_back(Tensor::Scalar<int32_t>(4));
  EXPECT_THAT(Values<float>(Eval("SparseSegmentMeanWithNumSegments", counted)),
              ElementsAre(3, 4, 0, 0, 3, 4, 0, 0));
  EXPECT_THAT(Values<float>(Eval("SparseSegmentSqrtNGrad", counted)),
              ElementsAre(FloatEq(0.7071067690849304F), FloatEq(1.4142135381698608F), 5, 6,
                          FloatEq(0.7071067690849304F), FloatEq(1.4142135381698608F), 0, 0));
  EXPECT_TRUE(IsInvalid(EvalError("SparseSegmentSum", {data, Ints({3}), Ints({0})}), "indices[0]"));
  EXPECT_TRUE(
      IsInvalid(EvalError("SparseSegmentSum", {data, Ints({0, 0}), Ints({1, 0})}), "increasing"));
}

}  // namespace
}  // namespace gyre::test
