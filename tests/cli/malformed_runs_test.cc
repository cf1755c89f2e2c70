// 20,000 damaged golden graphs, run: each run ends in values or in a Status, in time and within its
// memory, whatever is read back, verified or inferred on the way.
#include <cstdlib>
#include <map>

#include "base/env.h"
#include "base/memory.h"
#include "golden/case.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "gyre/core/session.h"
#include "ir/shape_inference.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "support/graph_mutator.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr int kShards = 8;
constexpr int kGraphsPerShard = 2500;
constexpr size_t kMaxGraphBytes = 6000;
constexpr int64_t kTimeoutMs = 500;
constexpr int64_t kGraceNanos = int64_t{10} * 1'000'000'000;  // for a machine that is busy

class MalformedRuns : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
    ASSERT_TRUE(folders.ok()) << folders.status();
    std::vector<std::string> graphs;
    for (const std::string& folder : *folders) {
      absl::StatusOr<std::string> bytes = ReadFile(folder + "/graph.pb");
      if (!bytes.ok() || bytes->size() > kMaxGraphBytes) continue;
      folders_.push_back(folder);
      graphs.push_back(*std::move(bytes));
    }
    ASSERT_GT(graphs.size(), 100u);
    const char* seed = std::getenv("GYRE_TEST_SEED");
    seed_ = (seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10)) * kShards + GetParam();
    mutator_ = std::make_unique<test::GraphMutator>(seed_, std::move(graphs));
  }

  const golden::Case& Case(size_t i) {
    auto& golden = cases_[i];
    if (golden == nullptr) golden = std::make_unique<golden::Case>(*golden::ReadCase(folders_[i]));
    return *golden;
  }

  // Everything that is done with a program short of running it.
  static void Look(const Program& program) {
    Verify(program, Dialect::kAny).IgnoreError();
    Verify(program, Dialect::kDataflow).IgnoreError();
    InferShapes(program).status().IgnoreError();
    ParseProgram(PrintProgram(program), Ops()).status().IgnoreError();
  }

  // Runs what the undamaged graph is run with.
  void RunAll(const golden::Case& golden, std::shared_ptr<const Program> program) {
    SessionOptions quiet;
    quiet.seed = 1;
    quiet.print = [](absl::string_view, absl::string_view) {};
    const auto session = Session::Create(std::move(program), quiet);
    if (!session.ok()) {  // refused by the verifier
      EXPECT_TRUE(absl::IsInvalidArgument(session.status())) << session.status();
      return;
    }
    RunOptions options;
    options.timeout_ms = kTimeoutMs;
    options.budget_bytes = 256 << 20;
    const auto run = [&](const Feeds& feeds, const std::vector<std::string>& fetches,
                         const std::vector<std::string>& targets) {
      const int64_t start = SystemClock().NowNanos();
      const absl::Status status = (*session)->Run(feeds, fetches, targets, options).status();
      const int64_t elapsed = SystemClock().NowNanos() - start;
      EXPECT_FALSE(absl::IsInternal(status)) << golden.id() << ": " << status;
      EXPECT_LT(elapsed, kTimeoutMs * 1'000'000 + kGraceNanos) << golden.id() << ": " << status;
      succeeded_ += status.ok() ? 1 : 0;
      return status.ok();
    };
    for (const std::string& op : golden.init) {
      if (!run({}, {}, {op})) return;
    }
    for (const golden::Step& step : golden.steps) {
      if (!run(step.feeds, step.fetches, step.targets)) return;
    }
  }

  uint64_t seed_ = 0;
  int succeeded_ = 0;
  std::vector<std::string> folders_;
  std::map<size_t, std::unique_ptr<golden::Case>> cases_;
  std::unique_ptr<test::GraphMutator> mutator_;
};

TEST_P(MalformedRuns, EndInValuesOrAStatus) {
  ImportOptions import;
  import.max_expanded_bytes = 16 << 20;
  int programs = 0;
  for (int i = 0; i < kGraphsPerShard && !HasFailure(); ++i) {
    const test::GraphMutator::Mutant mutant = mutator_->Next();
    const auto program = ImportGraphDef(mutant.bytes, Ops(), import);
    if (!program.ok()) continue;
    ++programs;
    SCOPED_TRACE(absl::StrCat("seed ", seed_, ", graph ", i));
    Look(**program);
    RunAll(Case(mutant.original), *program);
  }
  EXPECT_GT(programs, kGraphsPerShard / 50);
  EXPECT_GT(succeeded_, programs / 20) << "too wild to get anywhere";
}

INSTANTIATE_TEST_SUITE_P(All, MalformedRuns, ::testing::Range(0, kShards));

}  // namespace
}  // namespace gyre::cli
