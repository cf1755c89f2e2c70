// Every allocation of a run or an assignment fails once. What comes of it is an error of the user's
// grammar or what would have come anyway; afterwards the same session works, and nothing is left
// behind.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "faults/experiment.h"
#include "gyre/core/options.h"
#include "session/names.h"
#include "support/run_text.h"

namespace gyre::faults {
namespace {

using testing::LoadedCase;

constexpr size_t kCases = 50;

class AllocationFaultsOfRuns : public AllocationFaults {
 protected:
  // Of all steps of a case, in one session.
  void TryRuns(const std::string& what, const LoadedCase& one, const Setting& setting,
               int64_t most) {
    const auto session = Session::Create(one.program, setting.options);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<std::pair<Session::Callable, std::vector<Tensor>>> callables;
    for (const golden::Step& step : one.golden.steps) {
      auto callable = (*session)->Prepare(NamesOf(step.feeds), step.fetches, step.targets);
      if (callable.ok()) callables.emplace_back(*std::move(callable), ValuesOf(step.feeds));
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
  // Of y, which never comes. Another thread cancels each run at some time.
  void TryCancelledRuns(const std::string& what, const char* text, const Setting& setting,
                        int64_t most) {
    const absl::Status why = absl::CancelledError("somebody had enough");
    const auto session = testing::SessionFor(text, setting.options);
    auto callable = session->Prepare({}, {"y"});
    ASSERT_TRUE(callable.ok()) << callable.status();
    std::optional<Cancellation> cancellation;
    std::atomic<bool> has_begun;
    std::thread canceller;
    const auto begin = [&] {
      cancellation.emplace();
      has_begun = false;
      canceller = std::thread([&, patience = random_() % 100'000] {
        has_begun.wait(false);
        for (uint64_t i = 0; i < patience && !cancellation->IsCancelled(); ++i) {
        }
        cancellation->Cancel(why);
      });
    };
    const auto run = [&](Results& results) {
      RunOptions options;
      options.cancellation = &*cancellation;
      has_begun = true;
      has_begun.notify_one();
      const absl::Status status = callable->Run({}, options).status();
      results.push_back(ResultOf(absl::IsCancelled(status) ? absl::OkStatus() : status));
    };
    Try({what, run, begin, [&] { canceller.join(); }}, most);
  }
};

// One session all the while: after the failure its next run is right.
TEST_F(AllocationFaultsOfRuns, InOneSession) {
  for (const LoadedCase& one : testing::SampleCases(kCases, random_)) {
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
TEST_F(AllocationFaultsOfRuns, ThatWait) {
  struct Case {
    const char* name;
    const char* text;
    const char* target;  // beside y
    int64_t timeout_ms;
  };
  const Case cases[] = {{"a queue", testing::kDequeueBeforeEnqueue, "put", 0},
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

// Another thread cancels at some time, before the allocation fails or after it, or runs into it.
TEST_F(AllocationFaultsOfRuns, CancelledByAnotherThread) {
  const std::pair<const char*, const char*> kEndless[] = {{"an empty queue", R"(
graph {
  %q = FIFOQueueV2() component_types=[float32] shared_name="q" : resource
  %y = QueueDequeueV2(%q) component_types=[float32] : float32
}
)"},
                                                          {"a loop", R"(
graph {
  %x = Const() value=string{"a text that does not fit into a string itself"} : string
  %y = While(%x) cond=@always body=@step : string
}
func @always(%x: string) -> (go: bool) {
  %go = Const() value=bool{true} : bool
  return %go
}
func @step(%x: string) -> (x: string) {
  %y = Identity(%x) : string
  %length = StringLength(%y) : int32
  %text = AsString(%length) : string
  %z = StringJoin(%text, %text) separator="a separator that is rather long" : string
  return %z
}
)"}};
  for (const auto& [name, text] : kEndless) {
    for (const Setting& setting : Settings()) {
      const std::string what = absl::StrCat("runs of ", name, ", cancelled, on ", setting.name);
      LeavesNothing(
          what, [&](int64_t most) { TryCancelledRuns(what, text, setting, most); }, setting.options,
          std::min<int64_t>(Most(50), 5000));
      if (HasFailure()) return;
    }
  }
}

// All variables change, or none.
TEST_F(AllocationFaultsOfRuns, OfAssignments) {
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
