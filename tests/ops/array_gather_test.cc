// Gather, GatherNd, ScatterNd, TensorScatter*, DynamicStitch, DynamicPartition, OneHot: by index.
#include <cmath>
#include <limits>

#include "base/env.h"
#include "ops/array_testing.h"

namespace gyre::array_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GatherTest, PicksSlicesOfEveryTypeAlongAnAxis) {
  const Shape in = MakeShape({2, 3, 2});
  const Tensor indices = Tensor::FromValues<int32_t>({2, 0, 1, 2}, MakeShape({2, 2}));
  const std::vector<int64_t> picked = {2, 0, 1, 2};
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("GatherV2", {Count(dtype, in), indices, Int32(1)});
    EXPECT_EQ(y.shape(), MakeShape({2, 2, 2, 2}));
    EXPECT_EQ(Numbers(y),
              Moved(y.shape(), in,
                    [&](const Index& i) { return Index{i[0], picked[i[1] * 2 + i[2]], i[3]}; }))
        << DTypeName(dtype);
    EXPECT_THAT(Numbers(Call("Gather", {Count(dtype, MakeShape({3, 2})), Int32s({1, 1})})),
                ElementsAre(3, 4, 3, 4));
  }
}

TEST(GatherTest, WithBatchDimensions) {
  const Shape in = MakeShape({2, 2, 3});
  const Tensor indices = Tensor::FromValues<int64_t>({2, 0, 1, 1}, MakeShape({2, 2}));
  const std::vector<int64_t> picked = {2, 0, 1, 1};
  const Tensor y = Call("GatherV2", {Count(DType::kFloat, in), indices, Int32(2)},
                        Attrs({{"batch_dims", int64_t{1}}}));
  EXPECT_EQ(y.shape(), MakeShape({2, 2, 2}));
  EXPECT_EQ(Numbers(y), Moved(y.shape(), in, [&](const Index& i) {
              return Index{i[0], i[1], picked[i[0] * 2 + i[2]]};
            }));
}

TEST(GatherTest, NamesTheIndexOutOfRange) {
  const Tensor params = Count(DType::kFloat, MakeShape({3}));
  EXPECT_THAT(
      Fails("GatherV2", {params, Tensor::FromValues<int32_t>({0, 7}, MakeShape({1, 2})), Int32(0)}),
      IsInvalid("indices[0,1] = 7 is not in [0, 3)"));
  EXPECT_THAT(Fails("GatherV2", {params, Int32(-1), Int32(0)}),
              IsInvalid("indices = -1 is not in [0, 3)"));
  EXPECT_THAT(Fails("GatherV2", {Int32(3), Int32(0), Int32(0)}), IsInvalid("at least 1 dim"));
  EXPECT_THAT(Fails("GatherV2", {params, Int32(0), Int32(1)}), IsInvalid("axis in the range"));
  EXPECT_THAT(
      Fails("GatherV2", {params, Int32s({0}), Int32(0)}, Attrs({{"batch_dims", int64_t{1}}})),
      IsInvalid("batch_dims (1) must be less than or equal to axis (0)"));
  // Nothing is picked, so nothing is out of range.
  EXPECT_THAT(Numbers(Call("GatherV2", {Int32s({}), Int32s({}), Int32(0)})), IsEmpty());
}

TEST(GatherTest, InfersShapesAndLists) {
  const auto params = Known::Of(DType::kFloat, Partial({4, -1, 5}));
  const auto indices = Known::Of(DType::kInt32, Partial({2, -1}));
  EXPECT_EQ(Inferred("GatherV2", {params, indices, Known::Constant(Int32(-1))}), "[4,?,2,?]");
  EXPECT_EQ(Inferred("GatherV2", {params, indices, Known::Of(DType::kInt32, Partial({}))}),
            "[?,?,?,?]");
  EXPECT_EQ(InferredList("GatherV2", {Known::List({7, -1, 9}), Known::Constant(Int32s({2, 1})),
                                      Known::Constant(Int32(0))}),
            "[9,?]");
}

TEST(GatherNdTest, PicksSlicesByIndexVectors) {
  const Tensor indices = Tensor::FromValues<int32_t>({1, 0, 0, 2}, MakeShape({2, 2}));
  for (const DType dtype : AllDTypes()) {
    const Tensor params = Count(dtype, MakeShape({2, 3, 2}));
    const Tensor y = Call("GatherNd", {params, indices});
    EXPECT_EQ(y.shape(), MakeShape({2, 2}));
    EXPECT_THAT(Numbers(y), ElementsAre(7, 8, 5, 6)) << DTypeName(dtype);
  }
  const Tensor whole = Tensor::FromValues<int32_t>({}, MakeShape({2, 0}));
  EXPECT_THAT(Numbers(Call("GatherNd", {Int32s({5, 6}), whole})), ElementsAre(5, 6, 5, 6));
}

TEST(GatherNdTest, BadIndices) {
  const Tensor params = Count(DType::kFloat, MakeShape({2, 3}));
  const Tensor indices = Tensor::FromValues<int32_t>({0, 1, 2, 1}, MakeShape({2, 2}));
  EXPECT_THAT(Fails("GatherNd", {params, indices}),
              IsInvalid("indices[1] = [2,1] does not index into shape [2,3]"));
  EXPECT_THAT(Numbers(Call("GatherNd", {params, indices},
                           Attrs({{"bad_indices_policy", std::string("IGNORE")}}))),
              ElementsAre(2, 0));
  EXPECT_THAT(
      Fails("GatherNd", {params, indices}, Attrs({{"bad_indices_policy", std::string("SHRUG")}})),
      IsInvalid("SHRUG"));
  EXPECT_THAT(Fails("GatherNd", {Int32s({1}), indices}), IsInvalid("must be <= 1; saw: 2"));
  EXPECT_EQ(Inferred("GatherNd", {Known::Of(DType::kFloat, Partial({-1, 3, 4})),
                                  Known::Of(DType::kInt32, Partial({5, 2}))}),
            "[5,4]");
}

TEST(ScatterNdTest, AddsSlicesIntoZeros) {
  const Tensor indices = Tensor::FromValues<int32_t>({2, 0, 2}, MakeShape({3, 1}));
  const Tensor updates = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, MakeShape({3, 2}));
  EXPECT_THAT(Call("ScatterNd", {indices, updates, Int32s({4, 2})}).values<float>(),
              ElementsAre(3, 4, 0, 0, 6, 8, 0, 0));
  EXPECT_THAT(Fails("ScatterNd", {indices, updates, Int32s({2, 2})}),
              IsInvalid("indices[0] = [2] does not index into shape [2,2]"));
  EXPECT_THAT(Fails("ScatterNd", {indices, updates, Int32s({4, 3})}),
              IsInvalid("Must have updates.shape = indices.shape[:batch_dim]"));
  EXPECT_EQ(
      Inferred("ScatterNd", {Known::Of(DType::kInt32, Partial({-1, 1})),
                             Known::Of(DType::kFloat, Partial({-1, 2})), Known::List({4, -1})}),
      "[4,?]");
}

template <typename T>
std::vector<double> Scattered(absl::string_view op, std::initializer_list<T> tensor,
                              std::initializer_list<T> updates) {
  const Tensor indices = Tensor::FromValues<int32_t>({1, 1}, MakeShape({2, 1}));
  const Tensor y = Call(op, {Tensor::Vector<T>(tensor), indices, Tensor::Vector<T>(updates)});
  std::vector<double> result;
  for (const T& v : y.values<T>()) result.push_back(static_cast<double>(static_cast<float>(v)));
  return result;
}

TEST(ScatterNdTest, DeadlineEndsItWhileItStillZeroes) {
  // Two GiB of zeros take far longer than the deadline; only the first of them are ever touched.
  const std::vector<Tensor> inputs = {*Tensor::Make(DType::kInt32, MakeShape({0, 1})),
                                      *Tensor::Make(DType::kFloat, MakeShape({0})),
                                      Int32s({1 << 29})};
  const absl::StatusOr<Node> node = MakeNode(Ops(), "ScatterNd", inputs, {});
  ASSERT_TRUE(node.ok()) << node.status();
  Cancellation cancellation(SystemClock().NowNanos() + 2'000'000);
  RunEnv env;
  env.cancellation = &cancellation;
  EXPECT_TRUE(absl::IsDeadlineExceeded(EvaluateNode(Ops(), *node, inputs, env).status()));
}

TEST(TensorScatterTest, CombinesInOrder) {
  EXPECT_THAT(Scattered<int32_t>("TensorScatterUpdate", {1, 2, 3}, {7, 5}), ElementsAre(1, 5, 3));
  EXPECT_THAT(Scattered<int8_t>("TensorScatterAdd", {1, 127, 3}, {1, 1}),
              ElementsAre(1, -127, 3));  // wraps around
  EXPECT_THAT(Scattered<float>("TensorScatterSub", {1, 2, 3}, {7, 5}), ElementsAre(1, -10, 3));
  EXPECT_THAT(Scattered<Half>("TensorScatterMin", {Half(1), Half(2), Half(3)}, {Half(7), Half(-5)}),
              ElementsAre(1, -5, 3));
  EXPECT_THAT(Scattered<uint64_t>("TensorScatterMax", {1, 2, 3}, {7, 5}), ElementsAre(1, 7, 3));
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(Scattered<double>("TensorScatterMax", {1, 2, 3}, {nan, 5})[1]));
}

TEST(TensorScatterTest, UpdatesEveryTypeAndLeavesTheInputAlone) {
  const Tensor indices = Tensor::FromValues<int64_t>({2}, MakeShape({1, 1}));
  for (const DType dtype : AllDTypes()) {
    const Tensor x = Count(dtype, MakeShape({3}));
    const Tensor y = Call("TensorScatterUpdate", {x, indices, Count(dtype, MakeShape({1}))});
    EXPECT_THAT(Numbers(y), ElementsAre(1, 2, 1)) << DTypeName(dtype);
    EXPECT_THAT(Numbers(x), ElementsAre(1, 2, 3)) << DTypeName(dtype);
  }
  EXPECT_THAT(Fails("TensorScatterAdd", {Int32s({1}), indices, Int32s({1})}),
              IsInvalid("indices[0] = [2] does not index into shape [1]"));
}

TEST(DynamicStitchTest, PutsRowsWhereTheirIndicesSay) {
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("DynamicStitch", {Int32(3), Int32s({0, 3}), Count(dtype, MakeShape({2})),
                                            Count(dtype, MakeShape({2, 2}))});
    EXPECT_EQ(y.shape(), MakeShape({4, 2}));
    EXPECT_THAT(Numbers(y), ElementsAre(1, 2, 0, 0, 0, 0, 3, 4)) << DTypeName(dtype);
  }
  EXPECT_EQ(Call("DynamicStitch", {Int32s({}), Int32s({})}).shape(), MakeShape({0}));
  EXPECT_THAT(Fails("DynamicStitch", {Int32s({0, 1}), Int32s({1, 2, 3})}),
              IsInvalid("data[0].shape = [3] does not start with indices[0].shape = [2]"));
  EXPECT_THAT(Fails("DynamicStitch", {Int32s({-1}), Int32s({1})}), IsInvalid("negative index -1"));
  EXPECT_THAT(Fails("DynamicStitch", {Int32(0), Int32(1), Int32(1), Int32s({1})}),
              IsInvalid("Need data[0].shape[0:] = data[1].shape[0:]"));
}

TEST(DynamicStitchTest, InfersListsOfDimensions) {
  const auto first = Known::Constant(Int32s({1}));
  const auto second = Known::Constant(Int32s({0, 2}));
  EXPECT_EQ(InferredList("DynamicStitch", {first, second, Known::List({7}), Known::List({8, -1})}),
            "[8,7,?]");
  EXPECT_EQ(Inferred("DynamicStitch", {first, Known::Of(DType::kFloat, Partial({1, 5}))}), "[2,5]");
}

TEST(DynamicPartitionTest, PartsRowsByNumber) {
  const AttrMap three = Attrs({{"num_partitions", int64_t{3}}});
  for (const DType dtype : AllDTypes()) {
    const auto parts =
        EvaluateOp("DynamicPartition", {Count(dtype, MakeShape({3, 2})), Int32s({2, 0, 2})}, three);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_THAT(Numbers((*parts)[0]), ElementsAre(3, 4));
    EXPECT_EQ((*parts)[1].shape(), MakeShape({0, 2}));
    EXPECT_THAT(Numbers((*parts)[2]), ElementsAre(1, 2, 5, 6)) << DTypeName(dtype);
  }
  EXPECT_THAT(Fails("DynamicPartition", {Int32s({1, 2}), Int32s({0, 5})}, three),
              IsInvalid("partitions[1] = 5 is not in [0, 3)"));
  EXPECT_THAT(Fails("DynamicPartition", {Int32s({1, 2}), Int32s({0})}, three),
              IsInvalid("data.shape must start with partitions.shape"));
}

TEST(OneHotTest, PutsOnWhereTheIndexSays) {
  for (const DType dtype : AllDTypes()) {
    const Tensor values = Count(dtype, MakeShape({2}));
    const Tensor on =
        Call("Reshape", {Call("Slice", {values, Int32s({1}), Int32s({1})}), Int32s({})});
    const Tensor off = Count(dtype, Shape());
    const Tensor indices = Int32s({1, -1, 2, 3});
    EXPECT_THAT(Numbers(Call("OneHot", {indices, Int32(3), on, off})),
                ElementsAre(1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1))
        << DTypeName(dtype);
    EXPECT_THAT(
        Numbers(Call("OneHot", {indices, Int32(3), on, off}, Attrs({{"axis", int64_t{0}}}))),
        ElementsAre(1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1));
  }
  const Tensor one = Int32(1);
  EXPECT_THAT(Fails("OneHot", {one, Int32(-1), one, one}),
              IsInvalid("depth must be non-negative, got: -1"));
  EXPECT_THAT(Fails("OneHot", {one, one, one, one}, Attrs({{"axis", int64_t{2}}})),
              IsInvalid("Expected axis to be -1 or between [0, 1). But received: 2"));
  EXPECT_EQ(Inferred("OneHot", {Known::Of(DType::kInt32, Partial({-1})), Known::Constant(Int32(5)),
                                Known::Of(DType::kFloat, Partial({})),
                                Known::Of(DType::kFloat, Partial({}))}),
            "[?,5]");
}

}  // namespace
}  // namespace gyre::array_testing
