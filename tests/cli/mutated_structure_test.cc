// Golden graphs with one attribute or edge changed: each is refused when it is loaded, or means the
// same at every window and number of threads, on every engine, in every form. A sample in the
// ordinary suite (GYRE_TEST_SEED draws another), all of them with GYRE_TEST_LONG.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "cli/check/case.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "gyre/session.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "support/paths.h"
#include "support/races.h"
#include "support/structure_mutator.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr size_t kMaxNodes = 250;
constexpr int kMutantsPerGroup = 400;
// Work is counted, not timed: a mutant that fires this many times as many nodes as the sound graph
// does, and then some, has no end or might as well have none; one that does on one engine, but not
// on another, is a failure.
constexpr int64_t kMaxGrowth = 20;
constexpr int64_t kFewFirings = 5'000;
constexpr int64_t kTimeoutMs = 20'000;  // for a hang, which nothing counts

// Ends a run after so many firings.
class FiringLimit final : public RunObserver {
 public:
  explicit FiringLimit(int64_t most) : most_(most) {}
  absl::Status OnFired(const Firing&) override {
    if (fired_.fetch_add(1, std::memory_order_relaxed) < most_) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many firings");
  }
  int64_t fired() const { return fired_.load(); }
  bool is_reached() const { return fired() > most_; }

 private:
  const int64_t most_;
  std::atomic<int64_t> fired_{0};
};

struct Configuration {
  std::string name;
  SessionOptions options;
};

std::vector<Configuration> Configurations() {
  std::vector<Configuration> all;
  const auto add = [&](const char* engine, const char* form, int window, int threads) {
    SessionOptions options;
    options.engine = engine;
    options.form = form;
    options.window = window;
    options.threads = threads;
    all.push_back({absl::StrCat(engine, ", ", form, ", window ", window, ", threads ", threads),
                   std::move(options)});
  };
  for (const int window : {1, 2, 32}) add("reference", "imported", window, 1);
  for (const int window : {0, 1, 2, 32}) {
    for (const int threads : {1, 2}) add("dataflow", "imported", window, threads);
  }
  for (const char* form : {"raised", "relowered", "optimized"}) {
    add("reference", form, 0, 1);
    for (const int window : {0, 1, 32}) add("dataflow", form, window, 1);
  }
  return all;
}

// What each step came to, up to the first that failed.
using Outcome = std::vector<absl::StatusOr<std::vector<Tensor>>>;

Outcome RunCase(const GoldenCase& golden, std::shared_ptr<const Program> program,
                SessionOptions options, RunObserver* observer) {
  options.seed = 1;
  options.print = [](absl::string_view, absl::string_view) {};
  const auto session = Session::Create(std::move(program), options);
  if (!session.ok()) return {session.status()};
  RunOptions run;
  run.timeout_ms = kTimeoutMs;
  run.budget_bytes = 64 << 20;
  run.observer = observer;
  Outcome outcome;
  for (const std::string& op : golden.init) {
    outcome.push_back((*session)->Run({}, {}, {op}, run));
    if (!outcome.back().ok()) return outcome;
  }
  for (const GoldenStep& step : golden.steps) {
    outcome.push_back((*session)->Run(step.feeds, step.fetches, step.targets, run));
    if (!outcome.back().ok()) return outcome;
  }
  return outcome;
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return AttrEquals(x, y); });
}

bool MayRace(const GoldenCase& golden, const Program& program) {
  for (const std::string& op : golden.init) {
    if (test::MayRace(program, {op})) return true;
  }
  return std::any_of(golden.steps.begin(), golden.steps.end(), [&](const GoldenStep& step) {
    std::vector<std::string> roots = step.fetches;
    roots.insert(roots.end(), step.targets.begin(), step.targets.end());
    return test::MayRace(program, roots);
  });
}

// Nothing where `got` may stand for `want`. Forms may lose an error together with what nobody
// needs, and have none for some graphs; they add none.
std::optional<std::string> Difference(const Outcome& want, const Outcome& got, bool is_imported) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (i >= got.size()) return absl::StrCat("ends after ", got.size(), " steps");
    if (want[i].ok() && got[i].ok()) {
      if (!SameBits(*want[i], *got[i])) return absl::StrCat("other values in step ", i);
      continue;
    }
    if (!is_imported && (!want[i].ok() || absl::IsUnimplemented(got[i].status())))
      return std::nullopt;
    if (want[i].status().code() != got[i].status().code())
      return absl::StrCat("step ", i, ": ", got[i].status().ToString());
    return std::nullopt;
  }
  return std::nullopt;
}

class MutatedStructure : public ::testing::TestWithParam<const char*> {
 protected:
  struct Original {
    GoldenCase golden;
    std::unique_ptr<test::StructureMutator> mutator;
    int64_t firings = 0;
  };

  void SetUp() override {
    const auto folders =
        FindGoldenCases(test::SourcePath(absl::StrCat("tests/golden/", GetParam())));
    ASSERT_TRUE(folders.ok()) << folders.status();
    for (const std::string& folder : *folders) {
      auto golden = ReadGoldenCase(folder);
      ASSERT_TRUE(golden.ok()) << golden.status();
      const absl::StatusOr<std::string> bytes = ReadFile(golden->graph_path());
      if (!bytes.ok() || golden->load_error || golden->steps.empty()) continue;
      const auto program = ImportGraphDef(*bytes, Ops());
      ASSERT_TRUE(program.ok()) << golden->id() << ": " << program.status();
      size_t nodes = (*program)->main().nodes.size();
      for (const auto& [name, function] : (*program)->functions()) nodes += function->nodes.size();
      if (nodes > kMaxNodes) continue;
      FiringLimit limit(100'000);
      RunCase(*golden, *program, {.engine = "reference"}, &limit);
      if (limit.is_reached()) continue;
      originals_.push_back(
          {*std::move(golden), std::make_unique<test::StructureMutator>(*program), limit.fired()});
      if (originals_.back().mutator->size() == 0) originals_.pop_back();
    }
    ASSERT_FALSE(originals_.empty());
  }

  void Try(const Original& original, size_t number) {
    const test::StructureMutant mutant = original.mutator->Make(number);
    if (mutant.program == nullptr || !Verify(*mutant.program, Dialect::kAny).ok()) {
      ++refused_;
      return;
    }
    SCOPED_TRACE(absl::StrCat(original.golden.id(), ", mutant ", number, ": ", mutant.change));
    FiringLimit limit(kMaxGrowth * original.firings + kFewFirings);
    SessionOptions reference;
    reference.engine = "reference";
    const Outcome want = RunCase(original.golden, mutant.program, reference, &limit);
    if (limit.is_reached()) {
      ++endless_;
      return;
    }
    test::MergeWatch merges(mutant.program->main());
    for (const char* form : {"imported", "optimized"}) {
      FiringLimit most(kMaxGrowth * limit.fired() + kFewFirings);
      ObserverList observers;
      observers.Add(&most);
      if (form == std::string("imported")) observers.Add(&merges);
      RunCase(original.golden, mutant.program, {.threads = 1, .form = form}, &observers);
      EXPECT_FALSE(most.is_reached()) << form << ": " << limit.fired() << " firings elsewhere";
    }
    const bool races = merges.has_two_live_inputs() || MayRace(original.golden, *mutant.program);
    races_ += races ? 1 : 0;
    judged_ += races ? 0 : 1;
    for (const Configuration& configuration : configurations_) {
      const bool is_imported = configuration.options.form == "imported";
      const Outcome got = RunCase(original.golden, mutant.program, configuration.options, nullptr);
      for (const auto& result : got) {
        EXPECT_FALSE(absl::IsInternal(result.status())) << configuration.name << result.status();
        EXPECT_FALSE(absl::IsDeadlineExceeded(result.status())) << configuration.name;
      }
      if (races) continue;
      const auto difference = Difference(want, got, is_imported);
      EXPECT_FALSE(difference.has_value())
          << configuration.name << ": " << *difference << "\nwhere the reference engine has "
          << want.back().status();
    }
  }

  std::vector<Original> originals_;
  const std::vector<Configuration> configurations_ = Configurations();
  int refused_ = 0, endless_ = 0, races_ = 0, judged_ = 0;
};

TEST_P(MutatedStructure, MeansTheSameEverywhereOrIsRefused) {
  const char* const text = std::getenv("GYRE_TEST_SEED");
  const uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  SCOPED_TRACE(absl::StrCat("GYRE_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  if (std::getenv("GYRE_TEST_LONG") != nullptr) {
    for (const Original& original : originals_) {
      for (size_t i = 0; i < original.mutator->size() && !HasFailure(); ++i) Try(original, i);
    }
  } else {
    for (int i = 0; i < kMutantsPerGroup && !HasFailure(); ++i) {
      const Original& original = originals_[random() % originals_.size()];
      Try(original, original.mutator->Draw(random));
    }
  }
  std::cout << judged_ << " judged, " << refused_ << " refused, " << endless_ << " without end, "
            << races_ << " with races\n";
  EXPECT_GT(judged_, (refused_ + endless_ + races_) / 4) << "too wild to get anywhere";
}

INSTANTIATE_TEST_SUITE_P(Groups, MutatedStructure,
                         ::testing::Values("primitives", "cond_v1", "while_v1", "while_v2",
                                           "cond_v2", "functions", "arrays", "gradgraphs_v1",
                                           "errors", "fuzz"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::cli
