// What it costs to prepare a program grows like the program, whatever its shape: counted in steps
// (base/work.h), and looked at with a clock, wide enough to show only what grows faster still.
#include <time.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "gtest/gtest.h"
#include "preparation/stages.h"
#include "session/gradient_program.h"

namespace gyre::testing {
namespace {

struct Cost {
  int64_t steps = 0;
  int64_t cpu_nanos = 0;
};

int64_t ThreadNanos() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

// A stage may refuse a program: those of primitives have no gradients.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status);
}

Cost CostOf(const Stage& stage, const LargeProgram& program, int n) {
  const Material material = MaterialOf(program.text(n));
  const int64_t steps = WorkSpent();
  const int64_t start = ThreadNanos();
  const absl::Status status = stage.run(material);
  EXPECT_TRUE(status.ok() || IsRefusal(status)) << status;
  return {WorkSpent() - steps, ThreadNanos() - start};
}

class Preparation : public ::testing::TestWithParam<std::tuple<Stage, LargeProgram>> {};

TEST_P(Preparation, IsLinear) {
  const auto& [stage, program] = GetParam();
  if (stage.has_memory_policy && program.is_nested)
    GTEST_SKIP() << "d levels are gone over d times";
  CostOf(stage, program, program.n);  // tables that are made once
  constexpr int64_t kNoise = 20'000'000;
  std::string times;
  for (int i = 0; i < 6; ++i) {  // the machine may be busy
    const Cost small = CostOf(stage, program, program.n);
    const Cost large = CostOf(stage, program, 4 * program.n);
    ASSERT_LT(large.steps, 6 * small.steps + 10'000);
    if (large.cpu_nanos < 12 * small.cpu_nanos + kNoise) return;
    absl::StrAppend(&times, large.cpu_nanos, " ns instead of ", small.cpu_nanos, "; ");
  }
  FAIL() << "four times the program took " << times;
}

INSTANTIATE_TEST_SUITE_P(, Preparation,
                         ::testing::Combine(::testing::ValuesIn(Stages()),
                                            ::testing::ValuesIn(LargePrograms())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  std::get<1>(info.param).name;
                         });

// However many ways lead through 30 functions, planning them takes no more than a small multiple
// of the nodes that are written out.
TEST(PreparationOfManyWays, StopsAtTheLimit) {
  for (const auto& text : {CallsTwice(40), SharedBranches(1000), LoopsTwice(40)}) {
    const Material material = MaterialOf(text);
    for (const Stage& stage : Stages()) {
      if (stage.has_memory_policy) continue;
      const int64_t steps = WorkSpent();
      const absl::Status status = stage.run(material);
      EXPECT_TRUE(status.ok()) << stage.name << ": " << status;
      EXPECT_LT(WorkSpent() - steps, 3'000'000) << stage.name;
    }
  }
}

size_t FunctionsOfGradient(const std::string& text, const std::string& memory) {
  const Material material = MaterialOf(text);
  const absl::StatusOr<GradientProgram> made =
      MakeGradientProgram(material.program, {.ys = {"y:0"},
                                             .xs = {"x:0"},
                                             .grad_ys = {},
                                             .order = 1,
                                             .memory = *ParseMemoryPolicy(memory),
                                             .feeds = {}});
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? made->program->functions().size() : 0;
}

// Loops and branches that share their functions share what their gradients are made of.
TEST(GradientsOfShared, AreMadeOnce) {
  for (const char* memory : {"save", "recompute(2)", "checkpoint(200)"})
    EXPECT_EQ(FunctionsOfGradient(SharedCase(4), memory),
              FunctionsOfGradient(SharedCase(40), memory))
        << memory;
  // A loop adds a call and its gradient, not segments of its own.
  EXPECT_LE(FunctionsOfGradient(LoopsInARow(40), "checkpoint(200)"),
            FunctionsOfGradient(LoopsInARow(4), "checkpoint(200)") + 2 * 36);
}

}  // namespace
}  // namespace gyre::testing
