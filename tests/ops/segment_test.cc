// Segment reductions and sparse sums.
#include <limits>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

Tensor Ids(std::vector<int32_t> ids) {
  return Tensor::FromValues<int32_t>(ids, Shape::Vector(static_cast<int64_t>(ids.size())));
}

const Tensor kRows = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, ShapeOf({3, 2}));

TEST(SegmentSum, AddsRunsAndFillsGaps) {
  const Tensor sum = Eval("SegmentSum", {kRows, Ids({1, 1, 3})});
  EXPECT_EQ(sum.shape(), ShapeOf({4, 2}));
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{0, 0, 4, 6, 0, 0, 5, 6}));
}

TEST(SegmentSum, OtherCombinations) {
  const Tensor ids = Ids({1, 1, 1});
  EXPECT_EQ(Values<float>(Eval("SegmentMean", {kRows, ids})), (std::vector<float>{0, 0, 3, 4}));
  EXPECT_EQ(Values<float>(Eval("SegmentProd", {kRows, ids})), (std::vector<float>{1, 1, 15, 48}));
  EXPECT_EQ(Values<float>(Eval("SegmentMax", {kRows, ids})), (std::vector<float>{0, 0, 5, 6}));
  EXPECT_EQ(Values<float>(Eval("SegmentMin", {kRows, ids})), (std::vector<float>{0, 0, 1, 2}));
  EXPECT_EQ(Values<int8_t>(Eval("SegmentMin", {Tensor::Vector<int8_t>({-5, 3, -7}), ids})),
            (std::vector<int8_t>{0, -7}));
}

TEST(SegmentMean, SumsOfIntegersWrapAround) {
  const Tensor x = Tensor::Vector<uint16_t>({18, 65534, 16});
  EXPECT_EQ(Values<uint16_t>(Eval("SegmentMean", {x, Ids({0, 1, 1})})),
            (std::vector<uint16_t>{18, 7}));
  const Tensor y = Tensor::Vector<int8_t>({127, 127});
  EXPECT_EQ(Values<int8_t>(Eval("SegmentMean", {y, Ids({0, 0})})), (std::vector<int8_t>{-1}));
}

TEST(SegmentSum, WideRows) {
  std::vector<double> values(3 * 1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const std::vector<double> sum = Values<double>(
      Eval("SegmentSum", {Tensor::FromValues<double>(values, ShapeOf({3, 1000})), Ids({0, 0, 1})}));
  for (int j = 0; j < 1000; ++j) {
    ASSERT_EQ(sum[j], 2 * j + 1000);
    ASSERT_EQ(sum[1000 + j], 2000 + j);
  }
}

TEST(SegmentSum, OfNothing) {
  const Tensor empty = Tensor::FromValues<float>({}, ShapeOf({0, 3}));
  EXPECT_EQ(Eval("SegmentSum", {empty, Ids({})}).shape(), ShapeOf({0, 3}));
}

TEST(SegmentSum, BadIdsAreNamed) {
  EXPECT_THAT(Message(EvalError("SegmentSum", {kRows, Ids({3, 1, 1})})),
              HasSubstr("not increasing"));
  EXPECT_THAT(Message(EvalError("SegmentSum", {kRows, Ids({-1, 1, 1})})),
              HasSubstr("segment_ids[0] = -1 is negative"));
  EXPECT_TRUE(absl::IsInvalidArgument(EvalError("SegmentSum", {kRows, Ids({0})})));
  const Tensor huge = Tensor::Vector<int64_t>({0, 0, std::numeric_limits<int64_t>::max()});
  EXPECT_FALSE(EvalError("SegmentSum", {kRows, huge}).ok());
}

TEST(UnsortedSegmentSum, DropsNegativeIds) {
  const Tensor n = Tensor::Scalar(int32_t{4});
  const Tensor data = Tensor::Vector<int32_t>({1, 2, 3, 4});
  const Tensor ids = Ids({2, -1, 0, 2});
  EXPECT_EQ(Values<int32_t>(Eval("UnsortedSegmentSum", {data, ids, n})),
            (std::vector<int32_t>{3, 0, 5, 0}));
  EXPECT_EQ(Values<int32_t>(Eval("UnsortedSegmentProd", {data, ids, n})),
            (std::vector<int32_t>{3, 1, 4, 1}));
  const int32_t max = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Values<int32_t>(Eval("UnsortedSegmentMin", {data, ids, n})),
            (std::vector<int32_t>{3, max, 1, max}));
}

TEST(UnsortedSegmentMax, EmptySegmentsHoldTheLowestFiniteValue) {
  const Tensor n = Tensor::Scalar(int64_t{2});
  EXPECT_EQ(Values<float>(Eval("UnsortedSegmentMax", {Tensor::Vector<float>({-5}), Ids({0}), n})),
            (std::vector<float>{-5, std::numeric_limits<float>::lowest()}));
  const std::vector<Half> half =
      Values<Half>(Eval("UnsortedSegmentMax", {Tensor::Vector<Half>({Half(-5)}), Ids({1}), n}));
  EXPECT_EQ(static_cast<float>(half[0]), -65504.0f);
  EXPECT_EQ(static_cast<float>(half[1]), -5.0f);
}

TEST(UnsortedSegmentSum, IdsOfSeveralDimensions) {
  const Tensor data = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6, 7, 8}, ShapeOf({2, 2, 2}));
  const Tensor ids = Tensor::FromValues<int64_t>({0, 1, 1, 0}, ShapeOf({2, 2}));
  const Tensor sum = Eval("UnsortedSegmentSum", {data, ids, Tensor::Scalar(int32_t{2})});
  EXPECT_EQ(sum.shape(), ShapeOf({2, 2}));
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{8, 10, 8, 10}));
}

TEST(UnsortedSegmentSum, BadArgumentsAreNamed) {
  const Tensor data = Tensor::Vector<int32_t>({1, 2, 3});
  EXPECT_THAT(
      Message(EvalError("UnsortedSegmentSum", {data, Ids({0, -1, 5}), Tensor::Scalar(int32_t{3})})),
      HasSubstr("segment_ids[2] = 5 is out of range [0, 3)"));
  EXPECT_THAT(
      Message(EvalError("UnsortedSegmentSum", {data, Ids({0, 1}), Tensor::Scalar(int32_t{3})})),
      HasSubstr("does not start with"));
  EXPECT_THAT(
      Message(EvalError("UnsortedSegmentSum", {data, Ids({0, 1, 0}), Tensor::Scalar(int32_t{-4})})),
      HasSubstr("num_segments must not be negative"));
}

struct Sparse {
  Tensor indices, values, shape;
};

Sparse MakeSparse(std::vector<int64_t> indices, std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  return {Tensor::FromValues<int64_t>(indices, ShapeOf({n, 2})),
          Tensor::FromValues<float>(values, Shape::Vector(n)), Tensor::Vector<int64_t>({2, 2})};
}

std::vector<Tensor> AddSparse(const Sparse& a, const Sparse& b, float thresh) {
  return *EvaluateOp("SparseAdd", {a.indices, a.values, a.shape, b.indices, b.values, b.shape,
                                   Tensor::Scalar(thresh)});
}

TEST(SparseAdd, MergesAndDropsSmallElements) {
  const Sparse a = MakeSparse({0, 1, 1, 0}, {1, 2});
  const Sparse b = MakeSparse({0, 1, 1, 1}, {-1, 5});
  std::vector<Tensor> sum = AddSparse(a, b, 0);
  EXPECT_EQ(Values<int64_t>(sum[0]), (std::vector<int64_t>{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(Values<float>(sum[1]), (std::vector<float>{0, 2, 5}));
  EXPECT_EQ(Values<int64_t>(sum[2]), (std::vector<int64_t>{2, 2}));
  // Only sums are compared with the threshold: 2 stands alone in `a`.
  sum = AddSparse(a, b, 3);
  EXPECT_EQ(Values<int64_t>(sum[0]), (std::vector<int64_t>{1, 0, 1, 1}));
  EXPECT_EQ(Values<float>(sum[1]), (std::vector<float>{2, 5}));
}

TEST(SparseAdd, ShapesMustAgree) {
  Sparse a = MakeSparse({0, 1}, {1});
  const Sparse b = MakeSparse({1, 1}, {1});
  a.shape = Tensor::Vector<int64_t>({2, 3});
  EXPECT_THAT(Message(EvalError("SparseAdd", {a.indices, a.values, a.shape, b.indices, b.values,
                                              b.shape, Tensor::Scalar(0.0f)})),
              HasSubstr("got 3 and 2 for dimension 1"));
}

TEST(SparseAddGrad, RoutesGradientsToBothOperands) {
  const Sparse a = MakeSparse({0, 1, 1, 0}, {1, 2});
  const Sparse b = MakeSparse({0, 1, 1, 1}, {-1, 5});
  const Tensor sum_indices = Tensor::FromValues<int64_t>({1, 0, 1, 1}, ShapeOf({2, 2}));
  const std::vector<Tensor> grads = *EvaluateOp(
      "SparseAddGrad", {Tensor::Vector<float>({2, 3}), a.indices, b.indices, sum_indices});
  EXPECT_EQ(Values<float>(grads[0]), (std::vector<float>{0, 2}));
  EXPECT_EQ(Values<float>(grads[1]), (std::vector<float>{0, 3}));
}

}  // namespace
}  // namespace gyre::test
