// A program that is hot runs optimised where that is faster, and says the same.
#include "session/hot_program.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "base/env.h"
#include "support/compile_setting.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using Stage = HotProgram::Stage;

// Takes so long for each run, and gives its name.
class Takes final : public Executable {
 public:
  Takes(int64_t nanos, float name, std::shared_ptr<std::atomic<int>> runs)
      : nanos_(nanos), name_(name), runs_(std::move(runs)) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv&,
                                          const RunHooks&) const override {
    runs_->fetch_add(1);
    const int64_t end = SystemClock().NowNanos() + nanos_;
    while (SystemClock().NowNanos() < end) continue;
    if (!feeds.empty()) return absl::InvalidArgumentError("it does not like that");
    return std::vector<Tensor>{Tensor::Scalar(name_)};
  }

 private:
  const int64_t nanos_;
  const float name_;
  const std::shared_ptr<std::atomic<int>> runs_;
};

class HotPrograms : public ::testing::Test {
 protected:
  static constexpr int64_t kMicro = 1000;
  static constexpr float kImported = 1, kOptimized = 2;

  std::unique_ptr<HotProgram> Make(int64_t imported_nanos, int64_t optimized_nanos,
                                   bool may_repeat = true) {
    return std::make_unique<HotProgram>(
        std::make_unique<Takes>(imported_nanos, kImported, imported_runs_), 1000 * kMicro,
        [=, this]() -> absl::StatusOr<HotProgram::Optimized> {
          ++made_;
          if (optimized_nanos < 0) return absl::InternalError("not this one");
          return HotProgram::Optimized{
              std::make_unique<Takes>(optimized_nanos, kOptimized, optimized_runs_), may_repeat};
        });
  }
  // The program's name for itself; 0: it failed.
  float Run(const HotProgram& program, const RunHooks& hooks = {}) {
    RunEnv env;
    const auto results = program.Run({}, env, hooks);
    return results.ok() ? (*results)[0].scalar<float>() : 0;
  }
  // Runs it until it is settled, at most a minute.
  Stage Settle(const HotProgram& program) {
    const int64_t end = SystemClock().NowNanos() + int64_t{60'000'000'000};
    for (;;) {
      const Stage stage = program.stage();
      if (stage == Stage::kImported || stage == Stage::kOptimized) return stage;
      if (SystemClock().NowNanos() > end) return stage;
      Run(program);
    }
  }

  std::shared_ptr<std::atomic<int>> imported_runs_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> optimized_runs_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<int> made_{0};
};

TEST_F(HotPrograms, TheFasterFormStays) {
  const auto faster = Make(100 * kMicro, 10 * kMicro);
  EXPECT_EQ(Settle(*faster), Stage::kOptimized);
  EXPECT_EQ(Run(*faster), kOptimized);
  const auto slower = Make(10 * kMicro, 100 * kMicro);
  EXPECT_EQ(Settle(*slower), Stage::kImported);
  EXPECT_EQ(Run(*slower), kImported);
  EXPECT_EQ(made_, 2);
}

TEST_F(HotPrograms, WhatTakesNoTimeIsNotOptimised) {
  const auto program = Make(0, 0);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Run(*program), kImported);
  EXPECT_EQ(program->stage(), Stage::kCold);
  EXPECT_EQ(made_, 0);
}

TEST_F(HotPrograms, OneLongRunMakesAProgramHot) {
  const auto program = Make(2000 * kMicro, 0);
  EXPECT_EQ(Run(*program), kImported);
  EXPECT_NE(program->stage(), Stage::kCold);
  EXPECT_EQ(Settle(*program), Stage::kOptimized);
}

TEST_F(HotPrograms, WhatCannotBeOptimisedRunsAsItWas) {
  const auto program = Make(100 * kMicro, -1);
  EXPECT_EQ(Settle(*program), Stage::kImported);
  EXPECT_EQ(Run(*program), kImported);
  EXPECT_EQ(made_, 1);
}

TEST_F(HotPrograms, ObservedRunsAreThoseOfTheImportedProgram) {
  const auto program = Make(100 * kMicro, 10 * kMicro);
  ASSERT_EQ(Settle(*program), Stage::kOptimized);
  ObserverList observer;
  EXPECT_EQ(Run(*program, {.observer = &observer}), kImported);
  EXPECT_EQ(Run(*program), kOptimized);
}

TEST_F(HotPrograms, ErrorsAreToldByTheImportedProgramWhereRunsMayBeRepeated) {
  const absl::Status error = absl::InvalidArgumentError("it does not like that");
  for (const bool may_repeat : {true, false}) {
    const auto program = Make(100 * kMicro, 10 * kMicro, may_repeat);
    EXPECT_FALSE(program->RepeatsToTell(error));  // it is the imported program's
    ASSERT_EQ(Settle(*program), Stage::kOptimized);
    EXPECT_EQ(program->RepeatsToTell(error), may_repeat);
    EXPECT_FALSE(program->RepeatsToTell(absl::CancelledError("")));
    EXPECT_FALSE(program->RepeatsToTell(absl::DeadlineExceededError("")));
    EXPECT_FALSE(program->RepeatsToTell(absl::ResourceExhaustedError("")));
  }
}

TEST_F(HotPrograms, ThreadsShareATrial) {
  const auto program = Make(50 * kMicro, 5 * kMicro);
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) failed += Run(*program) == 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_NE(Settle(*program), Stage::kTrial);
  EXPECT_EQ(made_, 1);
}

TEST_F(HotPrograms, OneThatEndsWhileItIsOptimisedHarmsNothing) {
  for (int i = 0; i < 20; ++i) Run(*Make(2000 * kMicro, 0));
  EXPECT_GE(*imported_runs_, 20);
}

// y[i] = 6 // x[i] + w, which fails where x[i] is 0.
constexpr char kRows[] = R"(
graph {
  %x = Placeholder() dtype=int32 shape=(?)
  %w = Placeholder() dtype=int32 shape=()
  %v = VarHandleOp() dtype=int32 shape=() shared_name="v" : resource
  %init = AssignVariableOp(%v, %w) dtype=int32
  %dims = Shape(%x) : int32
  %first = Const() value=int32[1]{0}
  %second = Const() value=int32[1]{1}
  %n = StridedSlice(%dims, %first, %second, %second) shrink_axis_mask=1
  %scalar = Const() value=int32[0]{}
  %rows = TensorListFromTensor(%x, %scalar)
  %made = TensorListReserve(%scalar, %n) element_dtype=int32
  %zero = Const() value=int32{0}
  %loop = StatelessWhile(%zero, %made, %n, %rows, %w) cond=@more body=@step : (int32, variant, int32, variant, int32)
  %y = TensorListStack(%loop:1, %scalar) element_dtype=int32
  %last = Sub(%n, %second)
  %sum = Sum(%y, %first)
  %count = AssignAddVariableOp(%v, %sum) dtype=int32
  %read = ReadVariableOp(%v, ^%count) dtype=int32 : int32
}
func @more(%i: int32, %made: variant, %n: int32, %rows: variant, %w: int32) -> (p: bool) {
  %p = Less(%i, %n)
  return %p
}
func @step(%i: int32, %made: variant, %n: int32, %rows: variant, %w: int32) -> (i: int32, made: variant, n: int32, rows: variant, w: int32) {
  %scalar = Const() value=int32[0]{}
  %row = TensorListGetItem(%rows, %i, %scalar) element_dtype=int32
  %six = Const() value=int32{6}
  %part = FloorDiv(%six, %row)
  %sum = AddV2(%part, %w)
  %set = TensorListSetItem(%made, %i, %sum)
  %one = Const() value=int32{1}
  %next = AddV2(%i, %one)
  return %next, %set, %n, %rows, %w
}
)";

Tensor Vector(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }

TEST(HotSession, SaysTheSameWhenItIsHot) {
  auto session = SessionFor(kRows);
  ASSERT_NE(session, nullptr);
  const Tensor x = Vector({1, 2, 3, 6, -2, 4, 5, 1, 1, 1, 1, 1});
  const Tensor w = Tensor::Scalar(10);
  const absl::Status first = RunStatus(*session, {{"x", Vector({2, 3, 0, 1})}, {"w", w}}, "y:0");
  EXPECT_EQ(first.code(), absl::StatusCode::kInvalidArgument) << first;
  ASSERT_TRUE(session->Run({{"w", Tensor::Scalar(0)}}, {}, {"init"}).ok());
  int32_t expected = 0;
  // Long enough for all stages.
  const int64_t end = SystemClock().NowNanos() + int64_t{300'000'000};
  while (SystemClock().NowNanos() < end) {
    const auto y = session->Run({{"x", x}, {"w", w}}, {"y:0", "read:0"});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].values<int32_t>()[0], 16);
    EXPECT_EQ((*y)[0].values<int32_t>()[4], 7);
    expected += 6 + 3 + 2 + 1 - 3 + 1 + 1 + 5 * 6 + 12 * 10;
    ASSERT_EQ((*y)[1].scalar<int32_t>(), expected);  // each run counts once
    const auto alone = session->Run({{"x", x}, {"w", w}}, {"y:0"});
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ((*alone)[0].values<int32_t>()[3], 11);
  }
  const absl::Status last = RunStatus(*session, {{"x", Vector({2, 3, 0, 1})}, {"w", w}}, "y:0");
  EXPECT_EQ(last, first);
}

// x[i] x[i], in a loop.
constexpr char kSquares[] = R"(
graph {
  %x = Placeholder() dtype=float32 shape=(20000)
  %n = Const() value=int32{20000}
  %scalar = Const() value=int32[0]{}
  %rows = TensorListFromTensor(%x, %scalar)
  %made = TensorListReserve(%scalar, %n) element_dtype=float32
  %zero = Const() value=int32{0}
  %loop = StatelessWhile(%zero, %made, %n, %rows) cond=@more body=@step : (int32, variant, int32, variant)
  %y = TensorListStack(%loop:1, %scalar) element_dtype=float32
}
func @more(%i: int32, %made: variant, %n: int32, %rows: variant) -> (p: bool) {
  %p = Less(%i, %n)
  return %p
}
func @step(%i: int32, %made: variant, %n: int32, %rows: variant) -> (i: int32, made: variant, n: int32, rows: variant) {
  %scalar = Const() value=int32[0]{}
  %row = TensorListGetItem(%rows, %i, %scalar) element_dtype=float32
  %square = Mul(%row, %row)
  %set = TensorListSetItem(%made, %i, %square)
  %one = Const() value=int32{1}
  %next = AddV2(%i, %one)
  return %next, %set, %n, %rows
}
)";

// The best of some runs.
int64_t NanosOf(Session& session, const Tensor& x) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t start = SystemClock().NowNanos();
    const auto y = session.Run({{"x", x}}, {"y:0"});
    best = std::min(best, SystemClock().NowNanos() - start);
    EXPECT_TRUE(y.ok() && (*y)[0].values<float>()[7] == 9) << y.status();
  }
  return best;
}

TEST(HotSession, ALoopOverRowsBecomesFasterByItself) {
  const CompileSetting never("never");
  const auto by_itself = SessionFor(kSquares);
  const auto imported = SessionFor(kSquares, {.form = ProgramForm::kImported});
  Tensor x = *Tensor::Make(DType::kFloat, Shape::Vector(20000));
  for (float& value : x.mutable_values<float>()) value = 3;
  const int64_t end = SystemClock().NowNanos() + int64_t{60'000'000'000};
  bool is_faster = false;
  while (!is_faster && SystemClock().NowNanos() < end)
    is_faster = 4 * NanosOf(*by_itself, x) < NanosOf(*imported, x);
  EXPECT_TRUE(is_faster);
}

}  // namespace
}  // namespace gyre::testing
