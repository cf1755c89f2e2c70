// Every allocation of a run or an assignment fails once. What comes of it is an error of the user's
// grammar or what would have come anyway; afterwards the same session works, and nothing is left
// behind.
#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "faults/allocations.h"
#include "gtest/gtest.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::faults {
namespace {

using testing::BitDifference;
using testing::LoadedCase;
using testing::RunResult;
using Results = std::vector<RunResult>;

// What is done, again and again, with one of its allocations failing. Gives the same each time when
// none does.
struct Experiment {
  std::string what;
  std::function<void(Results&)> act;    // there is room for its results: adding them cannot fail
  std::function<void()> begin = [] {};  // before; what it allocates does not fail
  std::function<void()> end = [] {};
};

// What an attempt gives, how many allocations it took, and whether one of them failed.
struct Attempt {
  Results results;
  int64_t allocations = 0;
  bool has_failed = false;
};

// With the allocation of this number failing; 0: none. On a thread of its own: what threads keep of
// the heap for later is new there, and goes with it.
Attempt Do(const Experiment& experiment, int64_t number) {
  constexpr size_t kMostResults = 256;
  Attempt attempt;
  attempt.results.reserve(kMostResults);
  std::thread([&] {
    experiment.begin();
    {
      const FailAllocation one(number);
      experiment.act(attempt.results);
      attempt.allocations = one.counted();
      attempt.has_failed = one.has_failed();
    }
    experiment.end();
  }).join();
  return attempt;
}

// Nullopt when it is what was wanted, up to where memory ran out.
std::optional<std::string> Complaint(const Results& got, const Results& want) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (i < want.size() && !BitDifference(got[i], want[i])) continue;
    if (!absl::IsResourceExhausted(got[i].status()))
      return i < want.size() ? BitDifference(got[i], want[i]) : got[i].status().ToString();
    const std::string text(got[i].status().message());
    if (text.empty() || !absl::ascii_islower(text[0])) return absl::StrCat("says '", text, "'");
    return std::nullopt;
  }
  if (got.size() != want.size()) return absl::StrCat(got.size(), " results, not ", want.size());
  return std::nullopt;
}

// Whether all memory but `before` has come back: at once, or as soon as threads of the pool have
// dropped what they hold.
bool HasSettled(const LiveMemory& before) {
  constexpr int64_t kPatienceNanos = 5'000'000'000;
  const int64_t until = SystemClock().NowNanos() + kPatienceNanos;
  while (!(Live() == before)) {
    if (SystemClock().NowNanos() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

// 1, …, n, or `most` of them.
std::vector<int64_t> Numbers(int64_t n, int64_t most, std::mt19937_64& random) {
  std::set<int64_t> numbers;
  if (n <= most) {
    for (int64_t i = 1; i <= n; ++i) numbers.insert(i);
  } else {
    while (static_cast<int64_t>(numbers.size()) < most) {
      const int64_t number = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n));
      numbers.insert(number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

// How many allocations of how many experiments have failed.
struct Tally {
  int64_t experiments = 0;
  int64_t allocations = 0;
  int64_t failed = 0;
};

// Lets up to `most` allocations of the experiment fail, one at a time.
void Try(const Experiment& experiment, int64_t most, std::mt19937_64& random, Tally& tally) {
  SCOPED_TRACE(absl::StrCat(experiment.what, ", GYRE_TEST_SEED=", testing::TestSeed()));
  const Results want = Do(experiment, 0).results;
  const Attempt same = Do(experiment, 0);
  if (const auto complaint = Complaint(same.results, want))
    GTEST_FAIL() << "nothing fails, and yet: " << *complaint;
  ++tally.experiments;
  tally.allocations += same.allocations;
  for (const int64_t number : Numbers(same.allocations, most, random)) {
    const std::string which = absl::StrCat("allocation ", number, " of ", same.allocations);
    const Attempt attempt = Do(experiment, number);
    tally.failed += attempt.has_failed ? 1 : 0;
    if (const auto complaint = Complaint(attempt.results, want))
      ADD_FAILURE() << which << ": " << *complaint;
    if (const auto complaint = Complaint(Do(experiment, 0).results, want))
      ADD_FAILURE() << "after " << which << ": " << *complaint;
    if (::testing::Test::HasFailure()) return;  // one to look at is enough
  }
}

// Calls `work`, which leaves nothing behind. Before, it is called with 0 for what is made once and
// stays.
void LeavesNothing(const std::string& what, const std::function<void(int64_t most)>& work,
                   const SessionOptions& options, int64_t most) {
  if (!options.devices.empty()) return work(most);  // it may come to need one more thread
  work(0);
  // What a thread of the pool keeps is there once it has had work; a leak is there each time.
  LiveMemory before;
  for (int i = 0; i < 4; ++i) {
    before = Live();
    work(most);
    if (HasSettled(before)) return;
  }
  ADD_FAILURE() << "left behind by " << what << ": " << Live().blocks - before.blocks << " blocks, "
                << Live().bytes - before.bytes << " bytes";
}

// A way to run a program.
struct Setting {
  std::string name;
  SessionOptions options;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  const auto add = [&](const char* name, const char* engine, int threads, const char* form) {
    SessionOptions options;
    options.engine = engine;
    options.threads = threads;
    options.form = form;
    options.seed = 7;
    options.print = [](absl::string_view, absl::string_view) {};
    settings.push_back({name, options});
  };
  add("reference", "reference", 1, "");
  add("dataflow", "dataflow", 1, "");
  add("two threads", "dataflow", 2, "");
  add("raised", "dataflow", 1, "raised");
  add("optimized", "dataflow", 1, "optimized");
  add("relowered", "dataflow", 1, "relowered");
  add("two devices", "dataflow", 1, "");
  settings.back().options.devices = "cpu:2";
  settings.back().options.spread_seed = 3;
  return settings;
}

// Up to 50 cases, of all groups in turn.
std::vector<LoadedCase> SomeCases(std::mt19937_64& random) {
  constexpr size_t kCases = 50;
  std::vector<std::vector<LoadedCase>> groups;
  for (const char* group :
       {"arrays", "autodiff", "cond_v1", "cond_v2", "devices", "errors", "functions", "fuzz",
        "gradgraphs_v1", "gradgraphs_v2", "models", "primitives", "while_v1", "while_v2"}) {
    groups.push_back(testing::LoadCases({group}));
    std::shuffle(groups.back().begin(), groups.back().end(), random);
  }
  std::vector<LoadedCase> cases;
  for (size_t i = 0; cases.size() < kCases; ++i) {
    bool has_any = false;
    for (std::vector<LoadedCase>& group : groups) {
      if (i >= group.size() || cases.size() == kCases) continue;
      has_any = true;
      cases.push_back(std::move(group[i]));
    }
    if (!has_any) break;
  }
  return cases;
}

int64_t Most(int64_t in_short) {
  return testing::IsLongTest() ? std::numeric_limits<int64_t>::max() : in_short;
}

class AllocationFaults : public ::testing::Test {
 protected:
  void TearDown() override {
    std::cout << tally_.experiments << " experiments, " << tally_.failed << " of "
              << tally_.allocations << " allocations failed, GYRE_TEST_SEED=" << testing::TestSeed()
              << "\n";
    EXPECT_GT(tally_.failed, 0);
  }
  void Try(const Experiment& experiment, int64_t most) {
    faults::Try(experiment, most, random_, tally_);
  }
  // Of all steps of a case, in one session.
  void TryRuns(const std::string& what, const LoadedCase& one, const Setting& setting,
               int64_t most) {
    const auto session = Session::Create(one.program, setting.options);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<std::pair<Session::Callable, std::vector<Tensor>>> callables;
    for (const cli::GoldenStep& step : one.golden.steps) {
      std::vector<std::string> names;
      std::vector<Tensor> values;
      for (const auto& [name, value] : step.feeds) {
        names.push_back(name);
        values.push_back(value);
      }
      auto callable = (*session)->Prepare(names, step.fetches, step.targets);
      if (callable.ok()) callables.emplace_back(*std::move(callable), std::move(values));
    }
    const auto run = [&](Results& results) {
      for (const auto& [callable, values] : callables) results.push_back(callable.Run(values));
    };
    Results first, second;
    run(first);
    run(second);
    if (Complaint(second, first)) return;  // it keeps something from run to run
    Try({what, run}, most);
  }

  std::mt19937_64 random_{testing::TestSeed()};
  Tally tally_;
};

// One session all the while: after the failure its next run is right.
TEST_F(AllocationFaults, OfRuns) {
  for (const LoadedCase& one : SomeCases(random_)) {
    if (!one.golden.init.empty()) continue;
    for (const Setting& setting : Settings()) {
      if (!setting.options.devices.empty()) continue;  // each crossing wakes a thread: too slow
      const std::string what = absl::StrCat("runs of ", one.golden.id(), " on ", setting.name);
      LeavesNothing(
          what, [&](int64_t most) { TryRuns(what, one, setting, most); }, setting.options,
          Most(20));
      if (HasFailure()) return;
    }
  }
}

// Runs that wait for what comes from the same run, or for what never comes until they are stopped.
TEST_F(AllocationFaults, OfRunsThatWait) {
  struct Case {
    const char* name;
    const char* text;
    const char* target;  // beside y
    int64_t timeout_ms;
  };
  const Case cases[] = {{"a queue", R"(
graph {
  %q = FIFOQueueV2() component_types=[float32] shared_name="q" : resource
  %x = Const() value=float32{4} : float32
  %y = QueueDequeueV2(%q) component_types=[float32] : float32
  %slow = Square(%x) : float32
  %put = QueueEnqueueV2(%q, %slow)
}
)",
                         "put", 0},
                        {"rows of a queue", R"(
graph {
  %q = FIFOQueueV2() component_types=[float32] capacity=1 shared_name="q" : resource
  %x = Const() value=float32[3]{4, 5, 6} : float32
  %y = QueueDequeueV2(%q) component_types=[float32] : float32
  %second = QueueDequeueV2(%q, ^%y) component_types=[float32] : float32
  %third = QueueDequeueV2(%q, ^%second) component_types=[float32] : float32
  %put = QueueEnqueueManyV2(%q, %x)
  %all = NoOp(^%third, ^%put)
}
)",
                         "all", 0},
                        {"an empty queue", R"(
graph {
  %q = FIFOQueueV2() component_types=[float32] shared_name="q" : resource
  %y = QueueDequeueV2(%q) component_types=[float32] : float32
}
)",
                         "", 3},
                        {"a lock", R"(
graph {
  %m = MutexV2() shared_name="m" : resource
  %one = MutexLock(%m) : variant
  %two = MutexLock(%m) : variant
  %done = ConsumeMutexLock(%one)
  %also = ConsumeMutexLock(%two)
  %y = Const(^%done, ^%also) value=float32{1} : float32
}
)",
                         "", 0}};
  for (const Case& one : cases) {
    for (const Setting& setting : Settings()) {
      std::unique_ptr<Session> session;
      std::optional<Session::Callable> callable;
      const auto begin = [&] {
        session = testing::SessionFor(one.text, setting.options);
        std::vector<std::string> targets;
        if (*one.target != '\0') targets.emplace_back(one.target);
        auto prepared = session->Prepare({}, {"y"}, targets);
        ASSERT_TRUE(prepared.ok()) << prepared.status();
        callable.emplace(*std::move(prepared));
      };
      const auto wait = [&](Results& results) {
        RunOptions options;
        options.timeout_ms = one.timeout_ms;
        results.push_back(callable->Run({}, options));
      };
      const auto end = [&] {
        callable.reset();
        session.reset();
      };
      const Experiment experiment = {
          absl::StrCat("runs that wait for ", one.name, " on ", setting.name), wait, begin, end};
      LeavesNothing(
          experiment.what, [&](int64_t most) { Try(experiment, most); }, setting.options,
          Most(100));
      if (HasFailure()) return;
    }
  }
}

RunResult ResultOf(const absl::Status& status) {
  if (status.ok()) return std::vector<Tensor>();
  return status;
}

// All variables change, or none.
TEST_F(AllocationFaults, OfAssignments) {
  constexpr char kText[] = R"(
graph {
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %w = VarHandleOp() dtype=float32 shape=() shared_name="w" : resource
}
)";
  const std::vector<std::string> names = {"v", "w"};
  const auto all = [](float value) {
    return std::vector<std::pair<std::string, Tensor>>{{"v", Tensor::Scalar(value)},
                                                       {"w", Tensor::Scalar(value)}};
  };
  const auto session = testing::SessionFor(kText);
  const auto before = all(1), after = all(2);
  const auto begin = [&] { EXPECT_TRUE(session->AssignVariables(before).ok()); };
  const auto assign = [&](Results& results) {
    results.push_back(ResultOf(session->AssignVariables(after)));
  };
  const auto all_or_none = [&] {
    const auto values = session->ReadVariables(names);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ((*values)[0].scalar<float>(), (*values)[1].scalar<float>());
  };
  Try({"assignments", assign, begin, all_or_none}, Most(100));
}

}  // namespace
}  // namespace gyre::faults
