// Counting, sorting in, comparing: what must come out was written down from TensorFlow.
#include <limits>

#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;

Tensor Ints(std::vector<int32_t> values, std::vector<int64_t> dims) {
  return Tensor::FromValues<int32_t>(values, ShapeOf(std::move(dims)));
}
Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector(values); }
Tensor Longs(std::vector<int64_t> values, std::vector<int64_t> dims) {
  return Tensor::FromValues<int64_t>(values, ShapeOf(std::move(dims)));
}
Tensor Texts(std::initializer_list<std::string> values) { return Tensor::Vector(values); }

std::vector<Tensor> All(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  ResourceRun run;
  return run.All(op, std::move(inputs), std::move(attrs));
}

TEST(Unique, OfRowsAndColumns) {
  const Tensor x = Ints({1, 2, 1, 3, 4, 3, 1, 2, 1}, {3, 3});
  const auto rows = All("UniqueWithCountsV2", {x, Longs({0}, {1})});
  EXPECT_THAT(Values<int32_t>(rows[0]), ElementsAre(1, 2, 1, 3, 4, 3));
  EXPECT_THAT(Values<int32_t>(rows[1]), ElementsAre(0, 1, 0));
  EXPECT_THAT(Values<int32_t>(rows[2]), ElementsAre(2, 1));
  const auto columns = All("UniqueV2", {x, Longs({-2 + 3}, {1})});
  EXPECT_EQ(columns[0].shape(), ShapeOf({3, 2}));
  EXPECT_THAT(Values<int32_t>(columns[0]), ElementsAre(1, 2, 3, 4, 1, 2));
  const auto counted = All("UniqueWithCounts", {Texts({"b", "a", "b"})});
  EXPECT_THAT(Values<std::string>(counted[0]), ElementsAre("b", "a"));
  EXPECT_THAT(Values<int32_t>(counted[2]), ElementsAre(2, 1));
}

TEST(ListDiff, LeavesOutWhatIsInTheOther) {
  const auto diff = All("ListDiff", {Ints({1, 2, 3, 2, 5}, {5}), Ints({2, 7}, {2})});
  EXPECT_THAT(Values<int32_t>(diff[0]), ElementsAre(1, 3, 5));
  EXPECT_THAT(Values<int32_t>(diff[1]), ElementsAre(0, 2, 4));
}

TEST(Roll, MovesAlongSeveralAxes) {
  const Tensor x = Ints({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(Values<int32_t>(Eval("Roll", {x, Ints({1, -1}, {2}), Ints({0, 1}, {2})})),
              ElementsAre(5, 6, 4, 2, 3, 1));
  EXPECT_THAT(Values<int32_t>(Eval("Roll", {x, Int(-7), Int(-1)})), ElementsAre(2, 3, 1, 5, 6, 4));
  EXPECT_TRUE(IsInvalid(EvalError("Roll", {x, Int(1), Int(2)}), "axis"));
}

TEST(Bincount, OfVectorsRowsRaggedAndSparse) {
  EXPECT_THAT(Values<float>(Eval("Bincount", {Ints({1, 1, 5}, {3}), Int(3), Floats({.5F, 1, 2})})),
              ElementsAre(0, 1.5F, 0));
  EXPECT_THAT(
      Values<float>(Eval("DenseBincount", {Ints({1, 1, 5, 0, 2, 2}, {2, 3}), Int(3), Floats({})},
                         Attrs({{"binary_output", true}}))),
      ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(Values<float>(Eval("RaggedBincount", {Longs({0, 2, 2, 3}, {4}), Ints({1, 1, 0}, {3}),
                                                    Int(2), Floats({.5F, 1, 2})})),
              ElementsAre(0, 1.5F, 0, 0, 2, 0));
  EXPECT_THAT(Values<float>(Eval("SparseBincount", {Longs({0, 0, 2, 1}, {2, 2}), Ints({1, 0}, {2}),
                                                    Longs({3, 2}, {2}), Int(2), Floats({.5F, 1})})),
              ElementsAre(0, .5F, 0, 0, 1, 0));
  EXPECT_TRUE(
      IsInvalid(EvalError("DenseBincount", {Ints({-1}, {1}), Int(2), Floats({})}), "negative"));
}

TEST(SearchSorted, FindsPlacesAndBuckets) {
  const std::vector<Tensor> inputs = {Ints({1, 3, 3, 5}, {1, 4}), Ints({0, 3, 9}, {1, 3})};
  EXPECT_THAT(Values<int32_t>(Eval("LowerBound", inputs)), ElementsAre(0, 1, 4));
  EXPECT_THAT(Values<int32_t>(Eval("UpperBound", inputs)), ElementsAre(0, 3, 4));
  EXPECT_THAT(Values<int32_t>(Eval("Bucketize", {Floats({-5, 0, 10, 9.99F, 150})},
                                   Attrs({{"boundaries", std::vector<float>{0, 10, 100}}}))),
              ElementsAre(0, 1, 2, 1, 3));
}

TEST(Histogram, CountsBelowAndAboveAtTheEnds) {
  EXPECT_THAT(Values<int32_t>(Eval("HistogramFixedWidth",
                                   {Floats({-1, 0, 1.5F, 2, 5, 15}), Floats({0, 5}), Int(5)})),
              ElementsAre(2, 1, 1, 0, 2));
  EXPECT_THAT(Values<int32_t>(Eval("HistogramFixedWidth",
                                   {Ints({-1, 0, 1, 2, 5, 15}, {6}), Ints({0, 5}, {2}), Int(3)})),
              ElementsAre(3, 1, 2));
}

TEST(InTopK, IsFalseWhereNumbersAreNotFinite) {
  const Tensor predictions = Tensor::FromValues<float>(
      {.1F, .3F, .2F, .1F, .1F, .1F, 1, std::numeric_limits<float>::infinity(), 0},
      ShapeOf({3, 3}));
  EXPECT_THAT(Values<bool>(Eval("InTopKV2", {predictions, Ints({2, 0, 0}, {3}), Int(1)})),
              ElementsAre(false, true, false));
  EXPECT_THAT(
      Values<bool>(Eval("InTopK", {predictions, Ints({5, 0, 2}, {3})}, Attrs({{"k", int64_t{2}}}))),
      ElementsAre(false, true, false));
}

TEST(EditDistance, ComparesTheSequencesOfSparseTensors) {
  const std::vector<Tensor> inputs = {Longs({0, 0, 0, 1, 0, 0}, {2, 3}),
                                      Texts({"a", "b"}),
                                      Longs({2, 1, 1}, {3}),
                                      Longs({0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0}, {4, 3}),
                                      Texts({"a", "b", "c", "a"}),
                                      Longs({2, 2, 2}, {3})};
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Values<float>(Eval("EditDistance", inputs)), ElementsAre(inf, 1, .5F, 1));
  EXPECT_THAT(Values<float>(Eval("EditDistance", inputs, Attrs({{"normalize", false}}))),
              ElementsAre(1, 1, 1, 1));
  const auto row = [](const std::string& word) {
    const auto n = static_cast<int64_t>(word.size());
    std::vector<int64_t> indices(static_cast<size_t>(2 * n), 0);
    std::vector<std::string> letters;
    for (int64_t i = 0; i < n; ++i) {
      indices[static_cast<size_t>(2 * i + 1)] = i;
      letters.emplace_back(1, word[static_cast<size_t>(i)]);
    }
    return std::vector<Tensor>{Longs(indices, {n, 2}),
                               Tensor::FromValues<std::string>(letters, ShapeOf({n})),
                               Longs({1, n}, {2})};
  };
  std::vector<Tensor> words = row("kitten");
  for (Tensor& t : row("sitting")) words.push_back(t);
  EXPECT_THAT(Values<float>(Eval("EditDistance", words, Attrs({{"normalize", false}}))),
              ElementsAre(3));
}

}  // namespace
}  // namespace gyre::test
