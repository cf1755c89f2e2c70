// How long raising takes: in step with the size of the graph.
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "passes/pipeline.h"
#include "passes/raise/flow.h"
#include "passes/raise/raise.h"
#include "passes/staged_text.h"

namespace gyre::testing {
namespace {

// So many loops, one after the other, each with a conditional in its body.
std::string LoopsInSeries(int n) {
  std::string text = R"(
graph {
  %n = Placeholder() dtype=int32 shape=()
  %zero = Const() value=int32{0}
  %x0 = Placeholder() dtype=float32
)";
  for (int k = 0; k < n; ++k) {
    absl::StrAppend(&text, absl::Substitute(R"(
  %i_enter$0 = Enter(%zero) frame_name="loop$0" : int32
  %x_enter$0 = Enter(%x$0) frame_name="loop$0" : float32
  %limit$0 = Enter(%n) frame_name="loop$0" is_constant=true : int32
  %i$0 = Merge(%i_enter$0, %i_next$0) : (int32, int32)
  %v$0 = Merge(%x_enter$0, %x_next$0) : (float32, int32)
  %less$0 = Less(%i$0, %limit$0) : bool
  %cond$0 = LoopCond(%less$0) : bool
  %i_switch$0 = Switch(%i$0, %cond$0) : (int32, int32)
  %x_switch$0 = Switch(%v$0, %cond$0) : (float32, float32)
  %one$0 = Const(^%i_switch$0) value=int32{1} : int32
  %add$0 = AddV2(%i_switch$0:1, %one$0) : int32
  %half$0 = Const(^%i_switch$0) value=float32{0.5} : float32
  %small$0 = Less(%x_switch$0:1, %half$0) : bool
  %side$0 = Switch(%x_switch$0:1, %small$0) : (float32, float32)
  %neg$0 = Neg(%side$0) : float32
  %square$0 = Square(%side$0:1) : float32
  %join$0 = Merge(%neg$0, %square$0) : (float32, int32)
  %i_next$0 = NextIteration(%add$0) : int32
  %x_next$0 = NextIteration(%join$0) : float32
  %x$1 = Exit(%x_switch$0) : float32
)",
                                            k, k + 1));
  }
  return text + "}";
}

// The same conditionals within each other.
std::string BranchesInBranches(int depth) {
  std::string text = R"(
graph {
  %x = Placeholder() dtype=float32
  %x0 = Identity(%x)
)";
  for (int k = 0; k < depth; ++k) {
    absl::StrAppend(&text, absl::Substitute(R"(
  %p$0 = Placeholder() dtype=bool shape=()
  %s$0 = Switch(%x$0, %p$0)
  %x$1 = Neg(%s$0:1)
)",
                                            k, k + 1));
  }
  absl::StrAppend(&text, "  %y", depth, " = Identity(%x", depth, ")\n");
  for (int k = depth - 1; k >= 0; --k)
    absl::StrAppend(&text, "  %y", k, " = Merge(%s", k, ", %y", k + 1, ")\n");
  return text + "}";
}

int64_t WorkOf(const std::string& text, const std::string& fetch) {
  const Staged staged = StagedText(text, {}, {fetch});
  auto flow = raise::Flow::Make(staged.program->main(), staged.signature);
  EXPECT_TRUE(flow.ok()) << flow.status();
  return flow.ok() ? flow->contexts().work() : 0;
}

TEST(RaiseScale, WorkGrowsWithTheNumberOfLoops) {
  const int64_t some = WorkOf(LoopsInSeries(50), "x50:0");
  const int64_t more = WorkOf(LoopsInSeries(500), "x500:0");
  EXPECT_GT(some, 0);
  EXPECT_LT(more, 11 * some);
}

// Processor time of this process that `work` takes.
template <typename Work>
double SecondsOf(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Raised, and through all other passes, beside reading the same program: a busy machine is slow at
// both. (It was 14 times as long when this was written.)
TEST(RaiseScale, AHundredLoopsTakeSomeTimesAsLongAsReadingThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(GYRE_TSAN)
  GTEST_SKIP() << "sanitizers take their time";
#endif
  const std::string text = LoopsInSeries(100);
  constexpr double kLimit = 25;
  double best = 1e9;
  for (int i = 0; i < 20 && best >= kLimit; ++i) {
    Staged staged;
    const double reading = SecondsOf([&] { staged = StagedText(text, {}, {"x100:0"}); });
    const double optimizing = SecondsOf([&] {
      const auto optimized = Optimize(staged);
      ASSERT_TRUE(optimized.ok()) << optimized.status();
      // A condition, a body and two sides for each loop.
      EXPECT_EQ(optimized->program->functions().size(), 400U);
    });
    best = std::min(best, optimizing / reading);
  }
  RecordProperty("times", std::to_string(best));
  EXPECT_LT(best, kLimit);
}

TEST(RaiseScale, BranchesNestDeepButNotForEver) {
  const auto raised = Raise(StagedText(BranchesInBranches(400), {}, {"y0:0"}));
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(raised->program->functions().size(), 800U);
  EXPECT_EQ(Raise(StagedText(BranchesInBranches(5000), {}, {"y0:0"})).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace gyre::testing
