// Ragged tensors: what must come out was written down from TensorFlow.
#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;

Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector(values); }
Tensor Ints(std::vector<int32_t> values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return Tensor::FromValues<int32_t>(values, ShapeOf(std::move(dims)));
}
std::vector<Tensor> All(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  ResourceRun run;
  return run.All(op, std::move(inputs), std::move(attrs));
}
AttrMap Partitions(std::vector<std::string> types) {
  const auto n = static_cast<int64_t>(types.size());
  return Attrs({{"num_row_partition_tensors", n}, {"row_partition_types", std::move(types)}});
}

TEST(RaggedToTensor, FillsUpAndCutsOff) {
  const Tensor zero = Tensor::Scalar<int32_t>(0);
  EXPECT_THAT(
      Values<int32_t>(Eval("RaggedTensorToTensor",
                           {Longs({-1, 2}), Ints({1, 2, 3, 4, 5}), zero, Longs({0, 3, 3, 5})},
                           Partitions({"ROW_SPLITS"}))),
      ElementsAre(1, 2, 0, 0, 4, 5));
  const Tensor wide = Eval("RaggedTensorToTensor",
                           {Tensor::Scalar<int64_t>(-1), Ints({1, 2, 3, 4, 5, 6}, {3, 2}),
                            Ints({8, 9}), Tensor::Scalar<int64_t>(4), Longs({0, 0, 2})},
                           Partitions({"FIRST_DIM_SIZE", "VALUE_ROWIDS"}));
  EXPECT_EQ(wide.shape(), ShapeOf({4, 2, 2}));
  EXPECT_THAT(Values<int32_t>(wide), ElementsAre(1, 2, 3, 4, 8, 9, 8, 9, 5, 6, 8, 9, 8, 9, 8, 9));
  EXPECT_THAT(Values<int32_t>(Eval("RaggedTensorToTensor",
                                   {Longs({3, 2, -1}), Ints({1, 2, 3, 4}), zero, Longs({0, 2, 3}),
                                    Longs({0, 1, 3, 4})},
                                   Partitions({"ROW_SPLITS", "ROW_SPLITS"}))),
              ElementsAre(1, 0, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0));
}

TEST(RaggedToSparse, CountsInnerDimensions) {
  const auto sparse =
      All("RaggedTensorToSparse", {Longs({0, 2, 2, 3}), Ints({1, 2, 3, 4, 5, 6}, {3, 2})},
          Attrs({{"RAGGED_RANK", int64_t{1}}}));
  EXPECT_THAT(Values<int64_t>(sparse[0]),
              ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 2, 0, 0, 2, 0, 1));
  EXPECT_THAT(Values<int64_t>(sparse[2]), ElementsAre(3, 2, 2));
}

TEST(RaggedGather, ByScalarsVectorsAndMatrices) {
  const auto gather = [](Tensor indices, int64_t rank) {
    return All("RaggedGather", {Longs({0, 3, 3, 5}), Ints({1, 2, 3, 4, 5}), std::move(indices)},
               Attrs({{"PARAMS_RAGGED_RANK", int64_t{1}}, {"OUTPUT_RAGGED_RANK", rank}}));
  };
  const auto rows = gather(Ints({2, 0, 1}), 1);
  EXPECT_THAT(Values<int64_t>(rows[0]), ElementsAre(0, 2, 5, 5));
  EXPECT_THAT(Values<int32_t>(rows[1]), ElementsAre(4, 5, 1, 2, 3));
  const auto matrix = gather(Ints({2, 0, 1, 2}, {2, 2}), 2);
  EXPECT_THAT(Values<int64_t>(matrix[0]), ElementsAre(0, 2, 4));
  EXPECT_THAT(Values<int64_t>(matrix[1]), ElementsAre(0, 2, 5, 5, 7));
  EXPECT_THAT(Values<int32_t>(matrix[2]), ElementsAre(4, 5, 1, 2, 3, 4, 5));
  EXPECT_THAT(Values<int32_t>(gather(Tensor::Scalar<int32_t>(2), 0)[0]), ElementsAre(4, 5));
}

TEST(RaggedRange, GoesUpAndDown) {
  const auto range = All("RaggedRange", {Ints({0, 5, 8}), Ints({3, 5, 2}), Ints({1, 1, -2})});
  EXPECT_THAT(Values<int64_t>(range[0]), ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(Values<int32_t>(range[1]), ElementsAre(0, 1, 2, 8, 6, 4));
  EXPECT_TRUE(IsInvalid(
      EvalError("RaggedRange", {Ints({0}), Ints({3}), Tensor::Scalar<int32_t>(0)}), "delta"));
}

TEST(RaggedVariant, RowsComeTogetherAgain) {
  ResourceRun run;
  // [[[1], [2, 3]], [], [[4]]]
  const Tensor outer = Longs({0, 2, 2, 3}), inner = Longs({0, 1, 3, 4}),
               values = Ints({1, 2, 3, 4});
  const Tensor rows = run.Run("RaggedTensorToVariant", {outer, inner, values},
                              Attrs({{"RAGGED_RANK", int64_t{2}}, {"batched_input", true}}));
  EXPECT_EQ(rows.shape(), ShapeOf({3}));
  const auto whole = run.All("RaggedTensorFromVariant", {rows},
                             Attrs({{"input_ragged_rank", int64_t{-1}},
                                    {"output_ragged_rank", int64_t{2}},
                                    {"Tvalues", DType::kInt32}}));
  EXPECT_THAT(Values<int64_t>(whole[0]), ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(Values<int64_t>(whole[1]), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(Values<int32_t>(whole[2]), ElementsAre(1, 2, 3, 4));
  // Through a list, a row by itself.
  const Tensor list =
      run.Run("TensorListFromTensor", {rows, Tensor::FromValues<int32_t>({}, ShapeOf({0}))},
              Attrs({{"element_dtype", DType::kVariant}}));
  const Tensor first =
      run.Run("TensorListGetItem",
              {list, Tensor::Scalar<int32_t>(0), Tensor::FromValues<int32_t>({}, ShapeOf({0}))},
              Attrs({{"element_dtype", DType::kVariant}}));
  const auto row = run.All("RaggedTensorFromVariant", {first},
                           Attrs({{"input_ragged_rank", int64_t{1}},
                                  {"output_ragged_rank", int64_t{1}},
                                  {"Tvalues", DType::kInt32}}));
  EXPECT_THAT(Values<int64_t>(row[0]), ElementsAre(0, 1, 3));
  EXPECT_THAT(Values<int32_t>(row[1]), ElementsAre(1, 2, 3));
  const Tensor sum = run.Run("AddN", {first, first}, Attrs({{"N", int64_t{2}}}));
  EXPECT_THAT(Values<int32_t>(run.All("RaggedTensorFromVariant", {sum},
                                      Attrs({{"input_ragged_rank", int64_t{1}},
                                             {"output_ragged_rank", int64_t{1}},
                                             {"Tvalues", DType::kInt32}}))[1]),
              ElementsAre(2, 4, 6));
}

}  // namespace
}  // namespace gyre::test
