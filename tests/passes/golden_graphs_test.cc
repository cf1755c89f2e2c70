// Golden graphs, as imported on the reference engine and after passes on both engines: the same
// bits, or an error of the same kind. A rotating sample; all of it under --long.
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/pipeline.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

constexpr uint64_t kSessionSeed = 7;
constexpr int kSampled = 60;  // cases per choice of passes

// A choice of passes and what to call it.
struct Choice {
  std::string name;
  PassOptions passes;
  uint64_t order_seed = 0;
};

std::vector<Choice> Choices() {
  std::vector<Choice> choices = {{"all", {}}, {"none", {.off = {"all"}}}};
  for (const PipelinePass& pass : PipelinePasses()) {
    choices.push_back({absl::StrCat(pass.name, " alone"), {.only = std::string(pass.name)}});
    choices.push_back({absl::StrCat("without ", pass.name), {.off = {std::string(pass.name)}}});
  }
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 8; ++i) {
    const uint64_t seed = random() | 1;
    choices.push_back({absl::StrCat("order seed ", seed), {}, seed});
  }
  return choices;
}

TEST(OptimizedGoldenGraphs, MeanTheSameWhateverPassesRun) {
  const std::vector<LoadedCase> cases =
      LoadCases({"arrays", "cond_v2", "devices", "functions", "fuzz", "gradgraphs_v2", "models",
                 "while_v2", "errors"});
  ASSERT_GT(cases.size(), 100u);
  std::mt19937_64 random(TestSeed());
  SessionOptions reference;
  reference.engine = EngineKind::kReference;
  reference.seed = kSessionSeed;
  for (Choice& choice : Choices()) {
    choice.passes.verify = true;
    for (size_t i = 0; i < (IsLongTest() ? cases.size() : kSampled); ++i) {
      const LoadedCase& one = cases[IsLongTest() ? i : random() % cases.size()];
      const std::vector<RunResult> want = RunCase(one, reference);
      for (const EngineKind engine : kEngineKinds) {
        SessionOptions options;
        options.engine = engine;
        options.seed = kSessionSeed;
        options.form = ProgramForm::kOptimized;
        options.passes = choice.passes;
        options.testing.passes_order_seed = choice.order_seed;
        const auto difference = BitDifference(RunCase(one, options), want);
        EXPECT_FALSE(difference) << one.golden.id() << " on " << to_string(engine) << ", "
                                 << choice.name << ": " << *difference;
      }
    }
  }
}

}  // namespace
}  // namespace gyre::testing
