// Damaged graphs: raising and optimising them ends in a sound program or a status.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ir/verifier.h"
#include "lower/lower.h"
#include "ops/registry.h"
#include "passes/pipeline.h"
#include "passes/raise/golden_signature.h"
#include "passes/raise/raise.h"
#include "support/graph_mutator.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre::testing {
namespace {

constexpr int kGraphs = 1500;

class RaiseHostile : public ::testing::TestWithParam<const char*> {};

TEST_P(RaiseHostile, DamagedGraphsEndInAProgramOrAStatus) {
  const auto folders =
      golden::FindCases(test::SourcePath(absl::StrCat("tests/golden/", GetParam())));
  ASSERT_TRUE(folders.ok()) << folders.status();
  std::vector<golden::Case> cases;
  std::vector<std::string> graphs;
  for (const std::string& folder : *folders) {
    auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    if (golden->steps.empty()) continue;
    auto bytes = ReadFile(golden->graph_path());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    graphs.push_back(*std::move(bytes));
    cases.push_back(*std::move(golden));
  }
  const char* const text = std::getenv("GYRE_TEST_SEED");
  const uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  test::GraphMutator mutator(seed, std::move(graphs));
  ImportOptions import;
  import.max_expanded_bytes = 16 << 20;
  int raised_graphs = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const test::GraphMutator::Mutant mutant = mutator.Next();
    const auto program = ImportGraphDef(mutant.bytes, Ops(), import);
    if (!program.ok() || !Verify(**program, Dialect::kAny).ok()) continue;
    const golden::Case& golden = cases[mutant.original];
    const auto staged = StagedFor(*program, golden.steps.front());
    if (!staged.ok()) continue;  // what was fetched is gone
    SCOPED_TRACE(absl::StrCat(golden.id(), ", seed ", seed, ", graph ", i));
    const auto raised = Raise(*staged);
    EXPECT_FALSE(absl::IsInternal(raised.status())) << raised.status();
    if (!raised.ok()) continue;
    ++raised_graphs;
    const absl::Status sound = Verify(*raised->program, Dialect::kAny);
    EXPECT_TRUE(sound.ok()) << sound;
    const auto lowered =
        Lower(*raised->program, raised->program->main(), raised->signature).status();
    EXPECT_FALSE(absl::IsInternal(lowered)) << lowered;
    const auto optimized = Optimize(*staged);
    EXPECT_FALSE(absl::IsInternal(optimized.status())) << optimized.status();
  }
  EXPECT_GT(raised_graphs, kGraphs / 50);
}

INSTANTIATE_TEST_SUITE_P(Groups, RaiseHostile,
                         ::testing::Values("primitives", "cond_v1", "while_v1", "models",
                                           "gradgraphs_v1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::testing
