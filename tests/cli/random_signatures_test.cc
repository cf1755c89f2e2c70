// Golden graphs, fed and fetched anywhere: every form and engine gives what the imported graph
// gives on the reference engine. GYRE_TEST_SEED draws other signatures, GYRE_TEST_LONG many more.
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash_map.h"
#include "golden/case.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "gyre/core/session.h"
#include "ops/registry.h"
#include "session/names.h"
#include "support/firing_limit.h"
#include "support/paths.h"
#include "support/races.h"
#include "support/transcript.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr size_t kMaxNodes = 250;
constexpr int64_t kMostFirings = 100'000;  // an odd feed makes an endless loop
constexpr int64_t kTimeoutMs = 20'000;     // for a hang, which nothing counts

struct Trial {
  Feeds feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

class RandomSignatures : public ::testing::TestWithParam<const char*> {
 protected:
  using Result = absl::StatusOr<std::vector<Tensor>>;

  static Result Run(const golden::Case& golden, const std::shared_ptr<const Program>& program,
                    const char* engine, const char* form, const Trial& trial,
                    RunObserver* observer = nullptr, uint64_t passes_order_seed = 0) {
    SessionOptions options;
    options.engine = *ParseEngineKind(engine);
    options.form = *ParseProgramForm(form);
    options.seed = 1;
    options.testing.passes_order_seed = passes_order_seed;
    options.parallel.threads = 1;
    options.print = [](absl::string_view, absl::string_view) {};
    auto session = Session::Create(program, options);
    if (!session.ok()) return session.status();
    RunOptions run;
    run.timeout_ms = kTimeoutMs;
    run.budget_bytes = 64 << 20;
    run.observer = observer;
    for (const std::string& op : golden.init) {
      const Result result = (*session)->Run({}, {}, {op}, run);
      if (!result.ok()) return result;
    }
    return (*session)->Run(trial.feeds, trial.fetches, trial.targets, run);
  }

  size_t Below(size_t n) { return random_() % n; }

  // What the first step feeds; some other tensors, with values that they or others of their type
  // have in that step; fetches and targets, fed ones among them.
  Trial Draw(const golden::Step& step, const std::vector<std::pair<std::string, Tensor>>& values) {
    Trial trial;
    trial.feeds = step.feeds;
    for (size_t n = Below(4); n > 0; --n) {
      const auto& [name, value] = values[Below(values.size())];
      const Tensor& other = values[Below(values.size())].second;
      const auto fed = [&](const auto& feed) { return feed.first == name; };
      if (std::any_of(trial.feeds.begin(), trial.feeds.end(), fed)) continue;
      const bool fits = other.dtype() == value.dtype() && other.shape() == value.shape();
      trial.feeds.emplace_back(name, fits ? other : value);
    }
    for (size_t n = 1 + Below(3); n > 0; --n)
      trial.fetches.push_back(values[Below(values.size())].first);
    for (size_t n = Below(3); n > 0; --n) {
      const std::string& name = values[Below(values.size())].first;
      trial.targets.push_back(name.substr(0, name.rfind(':')));
    }
    return trial;
  }

  void Compare(const golden::Case& golden, const std::shared_ptr<const Program>& program,
               const Trial& trial) {
    const auto named = [](std::string* out, const auto& feed) {
      absl::StrAppend(out, feed.first, "=", AttrToString(feed.second.tensor()));
    };
    SCOPED_TRACE(absl::StrCat(golden.id(), ", feeds ", absl::StrJoin(trial.feeds, " ", named),
                              ", fetches ", absl::StrJoin(trial.fetches, " "), ", targets ",
                              absl::StrJoin(trial.targets, " ")));
    test::FiringLimit limit(kMostFirings);
    const Result want = Run(golden, program, "reference", "imported", trial, &limit);
    if (limit.is_reached()) return;
    std::vector<std::string> roots = trial.fetches;
    roots.insert(roots.end(), trial.targets.begin(), trial.targets.end());
    test::MergeWatch merges(program->main());
    Run(golden, program, "dataflow", "imported", trial, &merges).status().IgnoreError();
    const bool races =
        merges.has_two_live_inputs() || test::MayRace(*program, roots, NamesOf(trial.feeds));
    if (races) return;
    want_ok_ += want.ok() ? 1 : 0;
    ++trials_;
    for (const char* form : {"imported", "raised", "relowered", "optimized"})
      CompareForm(form, Run(golden, program, "dataflow", form, trial), want, trial);
    // In any order: what is fed must not be cut off by an earlier pass.
    const uint64_t order = random_() | 1;
    SCOPED_TRACE(absl::StrCat("passes in the order of seed ", order));
    CompareForm("optimized", Run(golden, program, "dataflow", "optimized", trial, nullptr, order),
                want, trial);
  }

  static void CompareForm(const std::string& form, const Result& got, const Result& want,
                          const Trial& trial) {
    if (absl::IsUnimplemented(got.status())) return;  // it has no structured form
    if (!want.ok()) {  // forms may lose an error, with what nobody needs
      if (form != "imported" && got.ok()) return;
      EXPECT_EQ(want.status().code(), got.status().code())
          << form << ": " << got.status() << "\nwant " << want.status();
      return;
    }
    EXPECT_TRUE(got.ok()) << form << ": " << got.status();
    if (!got.ok()) return;
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_TRUE(AttrEquals((*want)[i], (*got)[i])) << form << ": " << trial.fetches[i];
  }

  std::mt19937_64 random_;
  int trials_ = 0, want_ok_ = 0;
};

TEST_P(RandomSignatures, GiveTheSameInEveryForm) {
  const uint64_t seed = testing::TestSeed();
  SCOPED_TRACE(absl::StrCat("GYRE_TEST_SEED=", seed));
  random_.seed(seed);
  const bool is_long = testing::IsLongTest();
  auto folders = golden::FindCases(test::SourcePath(absl::StrCat("tests/golden/", GetParam())));
  ASSERT_TRUE(folders.ok()) << folders.status();
  std::shuffle(folders->begin(), folders->end(), random_);
  if (!is_long && folders->size() > 12) folders->resize(12);
  for (const std::string& folder : *folders) {
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    const absl::StatusOr<std::string> bytes = ReadFile(golden->graph_path());
    if (!bytes.ok() || golden->load_error || golden->steps.empty()) continue;
    const auto program = ImportGraphDef(*bytes, Ops());
    ASSERT_TRUE(program.ok()) << program.status();
    if ((*program)->main().nodes.size() > kMaxNodes) continue;
    std::vector<std::pair<std::string, Tensor>> values;
    for (const Node& node : (*program)->main().nodes) {
      for (int slot = 0; slot < node.num_outputs(); ++slot) {
        const std::string name = absl::StrCat(node.name, ":", slot);
        test::FiringLimit limit(kMostFirings);
        const Result result = Run(*golden, *program, "reference", "imported",
                                  {golden->steps[0].feeds, {name}, {}}, &limit);
        if (result.ok() && IsTrivial((*result)[0].dtype())) values.emplace_back(name, (*result)[0]);
      }
    }
    if (values.empty()) continue;
    for (int i = 0; i < (is_long ? 300 : 20) && !HasFailure(); ++i)
      Compare(*golden, *program, Draw(golden->steps[0], values));
  }
  std::cout << trials_ << " signatures, " << want_ok_ << " of which run\n";
  EXPECT_GT(want_ok_, trials_ / 4) << "too wild to get anywhere";
}

INSTANTIATE_TEST_SUITE_P(Groups, RandomSignatures,
                         ::testing::Values("primitives", "cond_v1", "cond_v2", "while_v1",
                                           "while_v2", "functions", "arrays", "fuzz", "autodiff",
                                           "gradgraphs_v1", "gradgraphs_v2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre::cli
