// Golden graphs of primitives: which of them have a structured form.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "passes/raise/golden_signature.h"
#include "passes/raise/raise.h"
#include "session/program_file.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

// The graphs that have none, and why. All others are raised.
const std::map<std::string, std::string>& Refusals() {
  static const auto* const refusals = new std::map<std::string, std::string>{
      // Of two variables one is dead, so that its part of each iteration does not run.
      {"primitives/half_dead_loop",
       "node f/enter1 (Enter) is alive on fewer paths than the condition of the loop that it "
       "enters"},
      // The predicate is there in the first iteration only: a second one would never end.
      {"primitives/pred_nonconstant_enter",
       "node x (Exit) leaves its loop by another condition than the loop's"},
  };
  return *refusals;
}

class RaiseGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(RaiseGolden, GraphsAreRaisedButForTheListedOnes) {
  const auto folders =
      golden::FindCases(test::SourcePath(absl::StrCat("tests/golden/", GetParam())));
  ASSERT_TRUE(folders.ok()) << folders.status();
  int raised_graphs = 0;
  for (const std::string& folder : *folders) {
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    if (golden->load_error) continue;  // a graph that must be refused has no form at all
    const auto program = LoadProgramFile(golden->graph_path());
    ASSERT_TRUE(program.ok()) << program.status();
    const auto refusal = Refusals().find(golden->id());
    for (const golden::Step& step : golden->steps) {
      if (step.error) continue;
      const auto staged = StagedFor(*program, step);
      ASSERT_TRUE(staged.ok()) << golden->id() << ": " << staged.status();
      const auto raised = Raise(*staged);
      if (refusal != Refusals().end()) {
        EXPECT_EQ(raised.status().code(), absl::StatusCode::kUnimplemented) << golden->id();
        EXPECT_EQ(raised.status().message(),
                  absl::StrCat("the graph has no structured form: ", refusal->second))
            << golden->id();
        continue;
      }
      ASSERT_TRUE(raised.ok()) << golden->id() << ": " << raised.status();
      const absl::Status sound = Verify(*raised->program, Dialect::kStructured);
      EXPECT_TRUE(sound.ok()) << golden->id() << ": " << sound;
      EXPECT_EQ(raised->signature.fetches.size(), step.fetches.size());
      const std::string text = PrintProgram(*raised->program);
      const auto again = ParseProgram(text, Ops());
      ASSERT_TRUE(again.ok()) << golden->id() << ": " << again.status();
      EXPECT_EQ(PrintProgram(**again), text) << golden->id();
      EXPECT_TRUE(Verify(**again, Dialect::kStructured).ok()) << golden->id();
      ++raised_graphs;
    }
  }
  EXPECT_GT(raised_graphs, 0);
}

INSTANTIATE_TEST_SUITE_P(Groups, RaiseGolden,
                         ::testing::Values("primitives", "cond_v1", "while_v1", "autodiff", "fuzz",
                                           "models", "devices", "arrays", "gradgraphs_v1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::testing
