// The rules of docs/semantics.md, "Tokens", as programs of primitives. tests/golden/primitives has
// many more.
#include "absl/strings/match.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

constexpr char kCountingLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %one = Const(^%pivot) value=int32{1} : int32
  %enter = Enter(%zero) frame_name="loop" : int32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %pivot = Identity(%switch:1) : int32
  %add = AddV2(%pivot, %one) : int32
  %next = NextIteration(%add) : int32
  %exit = Exit(%switch) : int32
}
)";

TEST(Tokens, LoopRunsAsOftenAsItsConditionSays) {
  auto session = SessionFor(kCountingLoop);
  ASSERT_NE(session, nullptr);
  for (const int n : {0, 1, 2, 10, 1000}) {
    EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(n)}}, "exit:0"), n);
  }
}

TEST(Tokens, ResultDoesNotDependOnTheWindow) {
  for (const int window : {1, 2, 3, 32}) {
    SessionOptions options;
    options.parallel.window = window;
    auto session = SessionFor(kCountingLoop, options);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(50)}}, "exit:0"), 50);
  }
}

TEST(Tokens, FeedInsideTheBodyIsThereInEveryIterationAndTheLoopStillEnds) {
  auto session = SessionFor(kCountingLoop);
  ASSERT_NE(session, nullptr);
  // What the body adds is cut off: the loop goes from 0 to 100 at once.
  const Feeds feeds = {{"n:0", Tensor::Scalar<int32_t>(5)},
                       {"add:0", Tensor::Scalar<int32_t>(100)}};
  EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "exit:0"), 100);
}

TEST(Tokens, FetchInsideALoopIsRefusedWithAHint) {
  auto session = SessionFor(kCountingLoop);
  ASSERT_NE(session, nullptr);
  const absl::Status status = RunStatus(*session, {{"n:0", Tensor::Scalar<int32_t>(5)}}, "add:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "loop frame \"loop\"")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "Exit")) << status;
}

constexpr char kBranch[] = R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Placeholder() dtype=float32 : float32
  %s = Switch(%x, %p) : (float32, float32)
  %no = Neg(%s) : float32
  %yes = Square(%s:1) : float32
  %m = Merge(%no, %yes) : (float32, int32)
  %after = Identity(%x, ^%s) : float32
  %late = Merge(%no, %yes, ^%no) : (float32, int32)
}
)";

TEST(Tokens, OneSideOfASwitchRuns) {
  auto session = SessionFor(kBranch);
  ASSERT_NE(session, nullptr);
  for (const bool p : {false, true}) {
    const Feeds feeds = {{"p:0", Tensor::Scalar<bool>(p)}, {"x:0", Tensor::Scalar<float>(3)}};
    EXPECT_EQ(RunScalar<float>(*session, feeds, "m:0"), p ? 9.0f : -3.0f);
    EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "m:1"), p ? 1 : 0);
    EXPECT_EQ(RunScalar<float>(*session, feeds, "after:0"), 3.0f)
        << "a Switch's control edges live";
    EXPECT_EQ(RunScalar<float>(*session, feeds, "late:0"), p ? 9.0f : -3.0f)
        << "a dead control input does not kill a Merge";
    EXPECT_EQ(RunStatus(*session, feeds, p ? "no:0" : "yes:0").code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Tokens, FedBranchValueIsAliveWhicheverSideWasTaken) {
  auto session = SessionFor(kBranch);
  ASSERT_NE(session, nullptr);
  const Feeds feeds = {{"p:0", Tensor::Scalar<bool>(false)},
                       {"x:0", Tensor::Scalar<float>(3)},
                       {"s:1", Tensor::Scalar<float>(4)}};
  EXPECT_EQ(RunScalar<float>(*session, feeds, "yes:0"), 16.0f);
}

TEST(Tokens, SendMeetsRecvAndDeathTravels) {
  auto session = SessionFor(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Const() value=float32{5} : float32
  %s = Switch(%x, %p) : (float32, float32)
  %send = _Send(%s:1) tensor_name="edge" send_device="a" send_device_incarnation=1 recv_device="b"
  %recv = _Recv() tensor_type=float32 tensor_name="edge" send_device="a" send_device_incarnation=1 recv_device="b" : float32
  %other = Neg(%s) : float32
  %m = Merge(%other, %recv) : (float32, int32)
}
)");
  ASSERT_NE(session, nullptr);
  for (const bool p : {true, false}) {
    const auto result = session->Run({{"p:0", Tensor::Scalar<bool>(p)}}, {"m:0"}, {"send"});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)[0].scalar<float>(), p ? 5.0f : -5.0f);
  }
}

TEST(Tokens, RecvWithoutSendEndsWithTheDeadline) {
  auto session = SessionFor(R"(
graph {
  %recv = _Recv() tensor_type=float32 tensor_name="edge" send_device="a" send_device_incarnation=1 recv_device="b" : float32
}
)");
  ASSERT_NE(session, nullptr);
  RunOptions options;
  options.timeout_ms = 20;
  EXPECT_EQ(RunStatus(*session, {}, "recv:0", options).code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace gyre::testing
