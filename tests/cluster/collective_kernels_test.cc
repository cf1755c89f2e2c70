// Collectives of a process that is alone, and what their kernels refuse. Among ranks:
// tests/cluster/group_test.cc, tests/python/distribute.
#include "gmock/gmock.h"
#include "ops/evaluate.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

std::vector<Tensor> Call(int32_t group_size, Tensor input = Tensor::Vector<float>({1, 2})) {
  return {std::move(input), Tensor::Scalar(group_size), Tensor::Scalar(int32_t{7}),
          Tensor::Scalar(int32_t{8})};
}

AttrMap Reduction(const std::string& merge, const std::string& final_op) {
  return Attrs({{"merge_op", merge}, {"final_op", final_op}});
}

std::string WhyNot(absl::string_view op, const std::vector<Tensor>& inputs, AttrMap attrs = {}) {
  return EvalError(op, inputs, std::move(attrs)).ToString();
}

TEST(Collective, OfOneRankIsTheIdentity) {
  for (const char* const merge : {"Add", "Mul", "Min", "Max"}) {
    for (const char* const op : {"CollectiveReduceV2", "CollectiveReduceScatterV2"}) {
      EXPECT_EQ(Values<float>(Eval(op, Call(1), Reduction(merge, "Div"))),
                (std::vector<float>{1, 2}));
    }
  }
  for (const char* const op : {"CollectiveGatherV2", "CollectiveAllToAllV2",
                               "CollectiveBcastSendV2", "_CollectiveBroadcast"}) {
    EXPECT_EQ(Values<float>(Eval(op, Call(1))), (std::vector<float>{1, 2})) << op;
  }
}

TEST(Collective, OfSeveralRanksNeedsThem) {
  EXPECT_THAT(WhyNot("CollectiveReduceV2", Call(2), Reduction("Add", "Id")),
              HasSubstr("FAILED_PRECONDITION: a collective of 2 ranks, and this process is alone: "
                        "call gyre.cluster.init() first"));
  EXPECT_THAT(WhyNot("CollectiveGatherV2", Call(0)), HasSubstr("group_size must be at least 1"));
  AttrMap attrs = Reduction("Add", "Id");
  attrs.Set("timeout_seconds", -1.0F);
  EXPECT_THAT(WhyNot("CollectiveReduceV2", Call(1), attrs), HasSubstr("must not be negative"));
}

TEST(Collective, TakesRows) {
  EXPECT_THAT(WhyNot("CollectiveGatherV2", Call(1, Tensor::Scalar(1.0F))),
              HasSubstr("all_gather takes rows, and a scalar has none"));
}

TEST(Collective, OfOneRankReceivesNoBroadcast) {
  EXPECT_THAT(WhyNot("CollectiveBcastRecvV2",
                     {Tensor::Scalar(int32_t{1}), Tensor::Scalar(int32_t{7}),
                      Tensor::Scalar(int32_t{8}), Tensor::Vector<int32_t>({2})},
                     Attrs({{"T", DType::kFloat}})),
              HasSubstr("there is no other rank to send one"));
}

TEST(Collective, GroupsAreRowsOfAnAssignment) {
  const Tensor rows = Tensor::FromValues<int32_t>({0, 2, 3, 1}, ShapeOf({2, 2}));
  const auto call = [&](int32_t device, const Tensor& assignment) {
    return std::vector<Tensor>{assignment, Tensor::Scalar(device), Tensor::Scalar(int32_t{50})};
  };
  for (const auto& [device, key] : std::vector<std::pair<int, int>>{{0, 50}, {1, 51}, {2, 50}}) {
    const auto found = EvaluateOp("CollectiveAssignGroupV2", call(device, rows), {});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].scalar<int32_t>(), 2);
    EXPECT_EQ((*found)[1].scalar<int32_t>(), key);
  }
  EXPECT_THAT(WhyNot("CollectiveAssignGroupV2", call(4, rows)), HasSubstr("no device 4"));
  const Tensor twice = Tensor::FromValues<int32_t>({0, 1, 1, 3}, ShapeOf({2, 2}));
  EXPECT_THAT(WhyNot("CollectiveAssignGroupV2", call(0, twice)), HasSubstr("names rank 1 twice"));
  const Tensor vector = Tensor::Vector<int32_t>({0, 1});
  EXPECT_THAT(WhyNot("CollectiveAssignGroupV2", call(0, vector)), HasSubstr("a row of ranks"));
}

TEST(Collective, CommunicatorsAreOfThisProcess) {
  const auto call = [](int32_t rank, int32_t size) {
    return std::vector<Tensor>{Tensor::Scalar(int32_t{3}), Tensor::Scalar(rank),
                               Tensor::Scalar(size)};
  };
  const Tensor communicator = Eval("CollectiveInitializeCommunicator", call(0, 1));
  const Tensor alone = Tensor::FromValues<int32_t>({0}, ShapeOf({1, 1}));
  const Tensor x = Tensor::Vector<float>({1, 2});
  EXPECT_EQ(Values<float>(Eval("CollectiveReduceV3", {x, communicator, alone},
                               Attrs({{"reduction", std::string("Max")}}))),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(Values<float>(Eval("CollectiveAllToAllV3", {x, communicator, alone})),
            (std::vector<float>{1, 2}));
  EXPECT_THAT(WhyNot("CollectiveInitializeCommunicator", call(1, 2)),
              HasSubstr("a communicator of rank 1 of 2, where this process is rank 0 of 1"));
  const Tensor other = Tensor::FromValues<int32_t>({5}, ShapeOf({1, 1}));
  EXPECT_THAT(WhyNot("CollectiveAllToAllV3", {x, communicator, other}),
              HasSubstr("names rank 5, which there is not"));
}

}  // namespace
}  // namespace gyre::test
