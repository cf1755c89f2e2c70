// Crosses of features, and sparse tensors as bytes.
#include "gmock/gmock.h"
#include "ops/math_values.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Longs(std::vector<int64_t> values, std::vector<int64_t> dims) {
  return Tensor::FromValues<int64_t>(values, ShapeOf(std::move(dims)));
}

const std::vector<DType> kText = {DType::kString};
const std::vector<DType> kNumber = {DType::kInt64};

// Texts in two rows, of two and one, beside a number in each.
std::vector<Tensor> TwoColumns() {
  return {Longs({0, 0, 0, 1, 1, 0}, {3, 2}), Tensor::Vector<std::string>({"a", "b", "c"}),
          Longs({2, 2}, {2}), Longs({1, 2}, {2, 1})};
}

TEST(SparseCross, JoinsAllCombinationsOfARow) {
  ResourceRun run;
  std::vector<Tensor> inputs = TwoColumns();
  inputs.push_back(Tensor::Scalar<std::string>("-"));
  const std::vector<Tensor> made =
      run.All("SparseCrossV2", inputs,
              Attrs({{"N", int64_t{1}}, {"sparse_types", kText}, {"dense_types", kNumber}}));
  EXPECT_THAT(made[0].values<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0));
  EXPECT_THAT(made[1].values<std::string>(), ElementsAre("a-1", "b-1", "c-2"));
  EXPECT_THAT(made[2].values<int64_t>(), ElementsAre(2, 2));
}

TEST(SparseCross, RefusesRowsThatAreOutOfOrder) {
  ResourceRun run;
  std::vector<Tensor> inputs = TwoColumns();
  inputs[0] = Longs({1, 0, 0, 1, 1, 0}, {3, 2});
  inputs.push_back(Tensor::Scalar<std::string>("-"));
  const absl::Status status =
      run.Error("SparseCrossV2", inputs,
                Attrs({{"N", int64_t{1}}, {"sparse_types", kText}, {"dense_types", kNumber}}));
  EXPECT_THAT(Message(status), HasSubstr("must be in order"));
}

// The rows of sparse columns are as many as their shapes say, without values.
TEST(SparseCross, HoldsWhatItCountsByRowToTheBudget) {
  constexpr int64_t kRows = 100'000;
  ResourceRun run(3 * kRows * sizeof(int64_t));  // of four columns that have so many
  std::vector<Tensor> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(Longs({}, {0, 2}));
  for (int i = 0; i < 4; ++i) inputs.push_back(Longs({}, {0}));
  for (int i = 0; i < 4; ++i) inputs.push_back(Longs({kRows, 1}, {2}));
  inputs.push_back(Tensor::Scalar<std::string>("-"));
  const absl::Status status =
      run.Error("SparseCrossV2", inputs,
                Attrs({{"N", int64_t{4}},
                       {"sparse_types", std::vector<DType>(4, DType::kInt64)},
                       {"dense_types", std::vector<DType>()}}));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

TEST(RaggedCross, HashesAsTensorFlowDoes) {
  ResourceRun run;
  const std::vector<Tensor> made =
      run.All("RaggedCross",
              {Longs({3, 1, 2}, {3}), Tensor::Vector<std::string>({"a", "b", "c"}),
               Longs({0, 2, 3}, {3}), Longs({0, 1, 3}, {3})},
              Attrs({{"Nsparse", int64_t{0}},
                     {"input_order", std::string("RR")},
                     {"hashed_output", true},
                     {"num_buckets", int64_t{100}},
                     {"hash_key", int64_t{0xDECAFCAFFE}},
                     {"ragged_values_types", std::vector<DType>{DType::kInt64, DType::kString}},
                     {"ragged_splits_types", std::vector<DType>{DType::kInt64, DType::kInt64}},
                     {"sparse_values_types", std::vector<DType>()},
                     {"dense_types", std::vector<DType>()},
                     {"out_values_type", DType::kInt64},
                     {"out_row_splits_type", DType::kInt64}}));
  EXPECT_THAT(made[0].values<int64_t>(), ElementsAre(52, 45, 49, 82));
  EXPECT_THAT(made[1].values<int64_t>(), ElementsAre(0, 2, 4));
}

TEST(SerializeSparse, RowsComeBackAsOneTensor) {
  ResourceRun run;
  const Tensor rows =
      run.Run("SerializeManySparse",
              {Longs({0, 1, 2, 0}, {2, 2}), Tensor::Vector<float>({5, 6}), Longs({3, 2}, {2})}, {});
  EXPECT_EQ(rows.shape(), ShapeOf({3, 3}));
  const std::vector<Tensor> made =
      run.All("DeserializeSparse", {rows}, Attrs({{"dtype", DType::kFloat}}));
  EXPECT_THAT(made[0].values<int64_t>(), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(made[1].values<float>(), ElementsAre(5, 6));
  EXPECT_THAT(made[2].values<int64_t>(), ElementsAre(3, 2));
}

}  // namespace
}  // namespace gyre::test
