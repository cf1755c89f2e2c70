// Statistics, the NaN trap, and values per iteration: the same from every engine.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "gyre/core/debug.h"
#include "gyre/core/options.h"
#include "ops/text/host_functions.h"
#include "session/loops.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

class ObserversTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Session> Load(const char* text) {
    return SessionFor(text, {.engine = *ParseEngineKind(GetParam())});
  }
};

TEST_P(ObserversTest, StatisticsCountFiringsAndIterations) {
  auto session = Load(kNestedLoops);
  StepStatistics statistics;
  const Feeds feeds = {{"outer_n:0", Int(3)}, {"inner_n:0", Int(4)}};
  const RunOptions options{.observer = &statistics};
  EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "x:0", options), 12);
  int found = 0;
  for (const NodeStatistics& node : statistics.nodes()) {
    if (node.function != "inner_body" || node.name != "x_next") continue;
    ++found;
    EXPECT_EQ(node.op, "AddV2");
    EXPECT_EQ(node.firings, 12);
    EXPECT_EQ(node.bytes, 48);
    EXPECT_GE(node.total_nanos, node.max_nanos);
  }
  EXPECT_EQ(found, 1);
  const std::vector<LoopStatistics> loops = statistics.loops();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].name, "inner");
  EXPECT_EQ(loops[0].function, "outer_body");
  EXPECT_EQ(loops[0].entered, 3);
  EXPECT_EQ(loops[0].iterations, 12);
  EXPECT_EQ(loops[0].most, 4);
  EXPECT_EQ(loops[1].name, "outer");
  EXPECT_EQ(loops[1].entered, 1);
  EXPECT_EQ(loops[1].iterations, 3);
}

TEST_P(ObserversTest, ALoopThatEndsAtOnceHasNoIterations) {
  auto session = Load(kTokenLoop);
  StepStatistics statistics;
  const RunOptions options{.observer = &statistics};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(0)}}, "exit:0", options), 0);
  ASSERT_EQ(statistics.loops().size(), 1u);
  EXPECT_EQ(statistics.loops()[0].entered, 1);
  EXPECT_EQ(statistics.loops()[0].iterations, 0);
}

TEST_P(ObserversTest, NanTrapNamesNodeLoopAndIteration) {
  auto session = Load(kLogarithms);
  EXPECT_TRUE(RunStatus(*session, {}, "x:0").ok());
  NanTrap trap;
  const absl::Status status = RunStatus(*session, {}, "x:0", {.observer = &trap});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  // log(3) = 1.0986, log of that 0.0940, then -2.364, then NaN.
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("1 NaN and 0 Inf in output 0, float32[]"), HasSubstr("at node log (Log)"),
            HasSubstr("in iteration 3 of the body"), HasSubstr("of While node loop")));
}

constexpr char kTrapCases[] = R"(
graph {
  %f = Placeholder() dtype=float32 : float32
  %half = Cast(%f) SrcT=float32 DstT=float16 : float16
  %brain = Cast(%f) SrcT=float32 DstT=bfloat16 : bfloat16
  %double = Cast(%f) SrcT=float32 DstT=float64 : float64
  %complex = Cast(%f) SrcT=float32 DstT=complex64 : complex64
  %int = Cast(%f) SrcT=float32 DstT=int32 : int32
  %same = Identity(%f) : float32
}
)";

TEST_P(ObserversTest, NanTrapLooksAtEveryFloatingType) {
  auto session = Load(kTrapCases);
  NanTrap trap;
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor bad = Tensor::Vector<float>({1, -inf, NAN, inf, -0.0f, 1e-40f});
  const Tensor good = Tensor::Vector<float>({1, -3e38f, 1e-40f, -0.0f});
  for (const char* fetch : {"brain:0", "double:0", "complex:0"}) {
    EXPECT_THAT(
        std::string(RunStatus(*session, {{"f:0", bad}}, fetch, {.observer = &trap}).message()),
        HasSubstr("1 NaN and 2 Inf"))
        << fetch;
    EXPECT_TRUE(RunStatus(*session, {{"f:0", good}}, fetch, {.observer = &trap}).ok()) << fetch;
  }
  EXPECT_THAT(
      std::string(RunStatus(*session, {{"f:0", good}}, "half:0", {.observer = &trap}).message()),
      HasSubstr("0 NaN and 1 Inf"));  // too large for 16 bits
  // Who merely hands on, or makes integers, is not to blame.
  EXPECT_TRUE(RunStatus(*session, {{"f:0", bad}}, "same:0", {.observer = &trap}).ok());
  EXPECT_TRUE(
      RunStatus(*session, {{"f:0", Tensor::Vector<float>({1, 2})}}, "int:0", {.observer = &trap})
          .ok());
}

TEST_P(ObserversTest, ValuesOfALoopOfPrimitivesStack) {
  auto session = Load(kTokenLoop);
  IterationValues values({{"square", 0}, {"merge", 1}, {"exit", 0}});
  const RunOptions options{.observer = &values};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(5)}}, "exit:0", options), 5);
  const std::optional<Tensor> squares = values.Stacked(0);
  ASSERT_TRUE(squares.has_value());
  EXPECT_THAT(squares->values<int32_t>(), ElementsAre(0, 1, 4, 9, 16));
  ASSERT_TRUE(values.Stacked(1).has_value());  // which input: Enter, then NextIteration
  EXPECT_THAT(values.Stacked(1)->values<int32_t>(), ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_FALSE(values.Stacked(2).has_value());  // outside of the loop
  ASSERT_EQ(values.Get(2).size(), 1u);
  EXPECT_EQ(values.Get(2)[0].value.scalar<int32_t>(), 5);
}

TEST_P(ObserversTest, ValuesOfAnInnerBodyComeInTheOrderOfIterations) {
  auto session = Load(kNestedLoops);
  IterationValues values({{"inner_body/x_next", 0}, {"x_next", 0}});
  const Feeds feeds = {{"outer_n:0", Int(2)}, {"inner_n:0", Int(3)}};
  const RunOptions options{.observer = &values};
  EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "x:0", options), 6);
  const std::vector<IterationValue> found = values.Get(0);
  ASSERT_EQ(found.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(found[i].iterations, ElementsAre(i / 3, i % 3));
    EXPECT_THAT(found[i].loops, ElementsAre("outer", "inner"));
    EXPECT_EQ(found[i].value.scalar<int32_t>(), i + 1);
  }
  EXPECT_FALSE(values.Stacked(0).has_value());
  EXPECT_TRUE(values.Get(1).empty());  // no node of the main graph
}

TEST_P(ObserversTest, ValuesBeyondTheLimitAreCounted) {
  auto session = Load(kTokenLoop);
  IterationValues values({{"square", 0}}, 2000);
  const RunOptions options{.observer = &values};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(1000)}}, "exit:0", options), 1000);
  EXPECT_GT(values.Get(0).size(), 5u);
  EXPECT_GT(values.left_out(0), 900);
  EXPECT_EQ(static_cast<int64_t>(values.Get(0).size()) + values.left_out(0), 1000);
  EXPECT_FALSE(values.Stacked(0).has_value());
}

TEST_P(ObserversTest, DeadlineInAComputingLoopNamesLoopAndIteration) {
  auto session = Load(kTokenLoop);
  const absl::Status status =
      RunStatus(*session, {{"n:0", Int(INT32_MAX)}}, "exit:0", {.timeout_ms = 20});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("in iteration "), HasSubstr(" of loop \"loop\""),
                    ::testing::ContainsRegex("\n  after [0-9.]+ ms$")));
}

// Sleeps where a node has fired: as a kernel that nothing can stop.
class Sleeper final : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override {
    if (firing.node == "y") std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return absl::OkStatus();
  }
};

TEST_P(ObserversTest, ARunThatEndsBehindItsDeadlineHasFailed) {
  auto session = Load(
      "graph {\n  %x = Const() value=float32{3} : float32\n"
      "  %y = Square(%x) : float32\n}");
  Sleeper sleeper;
  RunOptions options{.timeout_ms = 20};
  options.observer = &sleeper;
  EXPECT_EQ(RunStatus(*session, {}, "y:0", options).code(), absl::StatusCode::kDeadlineExceeded);
  options.timeout_ms = 20'000;
  EXPECT_EQ(RunScalar<float>(*session, {}, "y:0", options), 9);
}

constexpr char kHost[] = R"(
graph {
  %y = PyFunc() token="observers_test/sleeps" Tin=[] Tout=[int64] : int64
  %v = VarHandleOp() dtype=int64 shape=() shared_name="v" : resource
  %zero = Const() value=int64{0} : int64
  %init = AssignVariableOp(%v, %zero) dtype=int64
  %write = AssignAddVariableOp(%v, %y) dtype=int64
  %read = ReadVariableOp(%v) dtype=int64 : int64
}
)";

TEST_P(ObserversTest, NothingRunsBehindAHostFunctionThatTookTooLong) {
  HostFunctions::Global().Set("observers_test/sleeps", [](absl::Span<const Tensor>) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return absl::StatusOr<std::vector<Tensor>>(std::vector<Tensor>{Tensor::Scalar<int64_t>(7)});
  });
  auto session = Load(kHost);
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  EXPECT_EQ(session->Run({}, {}, {"write"}, {.timeout_ms = 20}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 0);
  EXPECT_TRUE(session->Run({}, {}, {"write"}, {.timeout_ms = 20'000}).ok());
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 7);
  HostFunctions::Global().Erase("observers_test/sleeps");
}

constexpr char kWaiting[] = R"(
graph {
  %y = _Recv() tensor_type=float32 tensor_name="edge" send_device="a" send_device_incarnation=1 recv_device="b" : float32
}
)";

TEST_P(ObserversTest, ARunThatWaitsSaysForWhat) {
  auto session = Load(kWaiting);
  Cancellation cancellation;
  std::string node;
  bool is_waiting = false;
  ProgressProbe probe([&](const RunProgress& progress) {
    node = progress.node;
    is_waiting = progress.is_waiting;
    if (is_waiting) return cancellation.Cancel(absl::CancelledError("seen"));
    probe.Ask();
  });
  probe.Ask();
  const absl::Status status =
      RunStatus(*session, {}, "y:0", {.cancellation = &cancellation, .progress = &probe});
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(node, "y");
  EXPECT_TRUE(is_waiting);
}

INSTANTIATE_TEST_SUITE_P(Engines, ObserversTest, ::testing::Values("dataflow", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::testing
