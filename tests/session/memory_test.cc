// Long loops, deep recursion and many runs leave no memory behind.
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/run_text.h"

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

bool Long() { return std::getenv("GYRE_TEST_LONG") != nullptr; }

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

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps what is given back";
#endif
  }
};

TEST_F(Memory, LongLoopGrowsNothing) {
  auto session = SessionFor(kTokenLoop);
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t trips) {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(trips)}}, "exit:0");
  };
  run(1000);
  const int64_t before = ResidentBytes();
  const int32_t trips = Long() ? 10'000'000 : 1'000'000;
  EXPECT_EQ(run(trips), 0.5f * static_cast<float>(trips));
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_F(Memory, StructuredLoopGrowsNothing) {
  auto session = SessionFor(R"(
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
)");
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t trips) {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(trips)}}, "loop:1");
  };
  run(1000);
  const int64_t before = ResidentBytes();
  const int32_t trips = Long() ? 10'000'000 : 500'000;
  EXPECT_EQ(run(trips), 0.5f * static_cast<float>(trips));
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_F(Memory, DeepRecursionIsGivenBack) {
  auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %y = PartitionedCall(%n) f=@down : int32
}
func @down(%n: int32) -> (y: int32) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %y = StatelessIf(%more, %n) then_branch=@deeper else_branch=@bottom : int32
  return %y
}
func @bottom(%n: int32) -> (y: int32) {
  return %n
}
func @deeper(%n: int32) -> (y: int32) {
  %one = Const() value=int32{1} : int32
  %less = Sub(%n, %one) : int32
  %call = PartitionedCall(%less) f=@down : int32
  %y = AddV2(%call, %one) : int32
  return %y
}
)");
  ASSERT_NE(session, nullptr);
  const auto run = [&](int32_t depth) {
    return RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(depth)}}, "y:0");
  };
  run(10);
  const int64_t before = ResidentBytes();
  EXPECT_EQ(run(100'000), 100'000);
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

TEST_F(Memory, ManyRunsOfOneSessionGrowNothing) {
  auto session = SessionFor(kTokenLoop);
  ASSERT_NE(session, nullptr);
  const auto run = [&] {
    return RunScalar<float>(*session, {{"n:0", Tensor::Scalar<int32_t>(5)}}, "exit:0");
  };
  for (int i = 0; i < 100; ++i) run();
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(run(), 2.5f);
  EXPECT_LE(ResidentBytes() - before, kSlackBytes);
}

}  // namespace
}  // namespace gyre::testing
