// EffectLog: what has effects runs once, however often it is called.
#include "eager/effect_log.h"

#include <thread>
#include <utility>
#include <vector>

#include "eager/eager.h"
#include "gmock/gmock.h"
#include "ops/registry.h"

namespace gyre::eager::testing {
namespace {

using Mode = EffectLog::Mode;
using ::testing::HasSubstr;

class EffectLogs : public ::testing::Test {
 protected:
  EagerTensor Uniform(const std::vector<int32_t>& shape) {
    return context.Execute1("RandomUniform", {Ints(shape)}, {{"dtype", DType::kFloat}});
  }
  void AddOne() {
    EagerTensor inputs[] = {v, F(1)};
    context.Execute(*Ops().Find("AssignAddVariableOp"), absl::MakeSpan(inputs),
                    {{"dtype", DType::kFloat}});
  }
  template <typename Fn>
  auto In(EffectLog& log, Mode mode, Fn&& run) {
    const EffectLog::Scope scope(log, mode);
    return run();
  }

  Context context;
  const EagerTensor v = MakeVariable(context, "v", Tensor::Scalar(1.0f), PartialShape(Shape()));
};

TEST_F(EffectLogs, ReplayDrawsReadsAndWritesNothing) {
  const auto run = [&] {
    const std::vector<float> drawn = Floats(Uniform({3}));
    AddOne();
    return std::make_pair(drawn, Float(Read(context, v)));
  };
  EffectLog log(1);
  const auto first = In(log, Mode::kRecord, run);
  EXPECT_EQ(first.second, 2);
  AddOne();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(In(log, Mode::kReplay, run), first);
  EXPECT_EQ(Float(Read(context, v)), 3);
  EXPECT_NE(run().first, first.first);
  EXPECT_NE(In(log, Mode::kRecord, run).first, first.first) << "recording begins anew";
}

TEST_F(EffectLogs, PureOpsRunEachTime) {
  EffectLog log(1);
  In(log, Mode::kRecord, [&] { return Mul(context, F(2), F(3)); });
  EXPECT_EQ(Float(In(log, Mode::kReplay, [&] { return Mul(context, F(5), F(3)); })), 15);
}

TEST_F(EffectLogs, WhatIsReplayedIsRecordedWithin) {
  EffectLog outer(2);
  EffectLog inner(3);
  const auto within = [&] { return Floats(Uniform({2})); };
  const auto run = [&] {
    EXPECT_EQ(Floats(Uniform({1})).size(), 1u);
    return In(inner, Mode::kRecord, [&] {
      if (EffectLog::OrdersAsked() != 3) {
        EXPECT_EQ(EffectLog::OrdersAsked(), 5);
      }
      return within();
    });
  };
  const std::vector<float> first = In(outer, Mode::kRecord, run);
  EXPECT_EQ(In(outer, Mode::kReplay, run), first);
  EXPECT_EQ(In(inner, Mode::kReplay, within), first);
}

TEST_F(EffectLogs, OtherOpsAreAnError) {
  EffectLog log(1);
  In(log, Mode::kRecord, [&] { return Uniform({3}); });
  for (const std::vector<int32_t>& shape : std::vector<std::vector<int32_t>>{{4}, {3, 1}}) {
    const absl::Status status =
        Thrown([&] { In(log, Mode::kReplay, [&] { return Uniform(shape); }); });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("RandomUniform where it ran nothing of the kind"));
  }
  EXPECT_FALSE(EffectLog::IsOn());
  const absl::Status twice = Thrown([&] {
    In(log, Mode::kReplay, [&] {
      Uniform({3});
      return Uniform({3});
    });
  });
  EXPECT_EQ(twice.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EffectLogs, WhatRanOnlyTheFirstTimeIsPassedOver) {
  EffectLog log(1);
  std::vector<float> last;
  In(log, Mode::kRecord, [&] {
    Uniform({2});
    AddOne();
    last = Floats(Uniform({5}));
  });
  EXPECT_EQ(In(log, Mode::kReplay, [&] { return Floats(Uniform({5})); }), last);
}

TEST_F(EffectLogs, OtherThreadsRunAsEver) {
  EffectLog log(1);
  In(log, Mode::kRecord, [&] {
    std::thread([] { EXPECT_FALSE(EffectLog::IsOn()); }).join();
    EXPECT_TRUE(EffectLog::IsOn());
  });
}

}  // namespace
}  // namespace gyre::eager::testing
