// Long loops, deep recursion and many runs leave no memory behind.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>

#include "support/compile_setting.h"
#include "support/recursion.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

constexpr int64_t kSlackBytes = 2 << 20;

// Resident bytes, once the heap has given back what it holds for nobody.
int64_t ResidentBytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

constexpr char kTokenLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %start = Const() value=float32{0} : float32
  %one = Const(^%pivot) value=int32{1} : int32
  %half = Const(^%pivot) value=float32{0.5} : float32
  %enter = Enter(%zero) frame_name="loop" : int32
  %enter_x = Enter(%start) frame_name="loop" : float32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %merge_x = Merge(%enter_x, %next_x) : (float32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %switch_x = Switch(%merge_x, %cond) : (float32, float32)
  %pivot = Identity(%switch:1) : int32
  %add = AddV2(%pivot, %one) : int32
  %add_x = AddV2(%switch_x:1, %half) : float32
  %next = NextIteration(%add) : int32
  %next_x = NextIteration(%add_x) : float32
  %exit = Exit(%switch_x) : float32
}
)";

class Memory : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(GYRE_TSAN)
    GTEST_SKIP() << "a sanitizer keeps what is given back";
#endif
  }
  std::unique_ptr<Session> Open(const std::string& text) {
    SessionOptions options;
    options.engine = GetParam();
    return SessionFor(text, options);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Memory, ::testing::ValuesIn(kEngineKinds),
                         [](const auto& engine) { return to_string(engine.param); });

TEST_P(Memory, LongLoopGrowsNothing) {
  auto session = Open(kTokenLoop);
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t iterations) {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(iterations)}}, "exit:0");
  };
  run(1000);
  const int64_t before = ResidentBytes();
  const int32_t iterations = IsLongTest() ? 10'000'000 : 1'000'000;
  EXPECT_EQ(run(iterations), 0.5f * static_cast<float>(iterations));
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

constexpr char kStructuredLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Const() value=float32{0} : float32
  %loop = StatelessWhile(%n, %x) cond=@more body=@step : (int32, float32)
}
func @more(%i: int32, %x: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%i, %zero) : bool
  return %p
}
func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %half = Const() value=float32{0.5} : float32
  %i1 = Sub(%i, %one) : int32
  %x1 = AddV2(%x, %half) : float32
  return %i1, %x1
}
)";

TEST_P(Memory, StructuredLoopGrowsNothing) {
  const CompileSetting never("never");  // the code generator has memory of its own
  auto session = Open(kStructuredLoop);
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t iterations) {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(iterations)}}, "loop:1");
  };
  run(1000);
  const int64_t before = ResidentBytes();
  const int32_t iterations = IsLongTest() ? 10'000'000 : 500'000;
  EXPECT_EQ(run(iterations), 0.5f * static_cast<float>(iterations));
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_P(Memory, NativeCodeIsGivenBackWithItsSession) {
  const CompileSetting at_once("after:1");
  const auto run = [&] {
    auto session = Open(kStructuredLoop);
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(1000)}}, "loop:1");
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(), 500.0f);
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run(), 500.0f);
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_P(Memory, DeepRecursionIsGivenBack) {
  auto session = Open(std::string(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %y = PartitionedCall(%n) f=@down : int32
}
)") + DownFunctions("int32"));
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t depth) {
    return RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(depth)}}, "y:0");
  };
  run(10);
  const int64_t before = ResidentBytes();
  EXPECT_EQ(run(100'000), 100'000);
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_P(Memory, ManyRunsOfOneSessionGrowNothing) {
  auto session = Open(kTokenLoop);
  ASSERT_NE(session, nullptr);
  const auto run = [&] {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(5)}}, "exit:0");
  };
  for (int i = 0; i < 100; ++i) run();
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(run(), 2.5f);
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

constexpr char kNestedLoops[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %sum = Const() value=float32{0} : float32
  %w = StatelessWhile(%zero, %n, %sum) cond=@more body=@one : (int32, int32, float32)
}
func @more(%i: int32, %n: int32, %s: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @one(%i: int32, %n: int32, %s: float32) -> (j: int32, n: int32, t: float32) {
  %step = Const() value=int32{1} : int32
  %j = AddV2(%i, %step) : int32
  %zero = Const() value=int32{0} : int32
  %w = StatelessWhile(%zero, %n, %s) cond=@more body=@two : (int32, int32, float32)
  return %j, %n, %w:2
}
func @two(%i: int32, %n: int32, %s: float32) -> (j: int32, n: int32, t: float32) {
  %step = Const() value=int32{1} : int32
  %j = AddV2(%i, %step) : int32
  %zero = Const() value=int32{0} : int32
  %w = StatelessWhile(%zero, %n, %s) cond=@more body=@three : (int32, int32, float32)
  return %j, %n, %w:2
}
func @three(%i: int32, %n: int32, %s: float32) -> (j: int32, n: int32, t: float32) {
  %step = Const() value=int32{1} : int32
  %j = AddV2(%i, %step) : int32
  %zero = Const() value=int32{0} : int32
  %w = StatelessWhile(%zero, %n, %s) cond=@more body=@four : (int32, int32, float32)
  return %j, %n, %w:2
}
func @four(%i: int32, %n: int32, %s: float32) -> (j: int32, n: int32, t: float32) {
  %step = Const() value=int32{1} : int32
  %j = AddV2(%i, %step) : int32
  %zero = Const() value=int32{0} : int32
  %w = StatelessWhile(%zero, %n, %s) cond=@more body=@five : (int32, int32, float32)
  return %j, %n, %w:2
}
func @five(%i: int32, %n: int32, %s: float32) -> (j: int32, n: int32, t: float32) {
  %step = Const() value=int32{1} : int32
  %j = AddV2(%i, %step) : int32
  %half = Const() value=float32{0.5} : float32
  %t = AddV2(%s, %half) : float32
  return %j, %n, %t
}
)";

TEST_P(Memory, LoopsFiveDeepGrowNothing) {
  auto session = Open(kNestedLoops);
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t iterations) {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(iterations)}}, "w:2");
  };
  // How many frames are open at once, and stay in the pools, hangs on how busy the machine is; what
  // leaks, leaks in each run.
  const int32_t iterations = IsLongTest() ? 25 : 12;  // to the power of five
  run(iterations);
  int64_t growth = INT64_MAX;
  for (int i = 0; i < 3 && growth > kSlackBytes; ++i) {
    const int64_t before = ResidentBytes();
    EXPECT_EQ(run(iterations), 0.5f * std::pow(static_cast<float>(iterations), 5.0f));
    growth = std::min(growth, ResidentBytes() - before);
  }
  EXPECT_LE(growth, kSlackBytes);
}

// What one thread makes and another takes must find its way back: the budget would notice.
TEST(SharedMemory, SharedRunsStayWithinTheirBudget) {
  SessionOptions options;
  options.engine = EngineKind::kDataflow;
  options.parallel.threads = 2;
  auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(?,?) : float32
  %zero = Const() value=int32{0} : int32
  %s = ZerosLike(%x) : float32
  %w = StatelessWhile(%zero, %n, %x, %s) cond=@more body=@step : (int32, int32, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %s: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %f = Cast(%j) DstT=float32 : float32
  %xf = Mul(%x, %f) : float32
  %a = MatMul(%xf, %x) : float32
  %b = MatMul(%a, %x) : float32
  %c = Tanh(%b) : float32
  %t = AddV2(%s, %c) : float32
  return %j, %n, %x, %t
}
)",
                            options);
  ASSERT_NE(session, nullptr);
  const std::vector<float> values(64 * 64, 0.01f);
  const Feeds feeds = {{"n:0", Tensor::Scalar<int32_t>(IsLongTest() ? 500'000 : 20'000)},
                       {"x:0", Tensor::FromValues<float>(values, *Shape::Make({64, 64}))}};
  RunOptions run;
  run.budget_bytes = 4 << 20;
  EXPECT_TRUE(RunStatus(*session, feeds, "w:3", run).ok())
      << RunStatus(*session, feeds, "w:3", run);
}

// A tree of calls is walked depth first, whatever its nodes cost and however many threads there
// are: 2^14 leaves at once would not fit.
TEST(SharedMemory, TreesOfCallsStayWithinTheirBudget) {
  for (const int threads : {1, 2}) {
    SessionOptions options;
    options.engine = EngineKind::kDataflow;
    options.parallel.threads = threads;
    auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(?,?) : float32
  %y = PartitionedCall(%n, %x) f=@tree : float32
}
func @tree(%n: int32, %x: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %y = StatelessIf(%more, %n, %x) then_branch=@node else_branch=@leaf : float32
  return %y
}
func @leaf(%n: int32, %x: float32) -> (y: float32) {
  %y = Tanh(%x) : float32
  return %y
}
func @node(%n: int32, %x: float32) -> (y: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %xx = MatMul(%x, %x) : float32
  %left = PartitionedCall(%m, %xx) f=@tree : float32
  %right = PartitionedCall(%m, %xx) f=@tree : float32
  %y = AddV2(%left, %right) : float32
  return %y
}
)",
                              options);
    ASSERT_NE(session, nullptr);
    const std::vector<float> values(64 * 64, 0.01f);
    RunOptions run;
    run.budget_bytes = 16 << 20;
    for (const int32_t depth : {4, 14}) {
      const Feeds feeds = {{"n:0", Tensor::Scalar(depth)},
                           {"x:0", Tensor::FromValues<float>(values, *Shape::Make({64, 64}))}};
      const absl::Status status = RunStatus(*session, feeds, "y:0", run);
      EXPECT_TRUE(status.ok()) << threads << " threads, depth " << depth << ": " << status;
    }
  }
}

}  // namespace
}  // namespace gyre::testing
