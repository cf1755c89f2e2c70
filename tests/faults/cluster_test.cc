// Every allocation of a run over two workers fails once, on the client, on a worker or between
// them: what comes of it is an error of the user's grammar or what would have come anyway;
// afterwards the same session works, and nothing is left behind. The same of sessions that have
// their programs compiled by workers, and of clients that call them.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "faults/allocations.h"
#include "faults/experiment.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"

namespace gyre::faults {
namespace {

using test::Workers;

struct Case {
  const char* name;
  std::string text;
  Feeds feeds;
  std::vector<std::string> fetches;
};

std::vector<Case> Cases() {
  const Feeds loop = {{"n", Tensor::Scalar(int32_t{4})}, {"w", Tensor::Scalar(2.0f)}};
  return {
      {"a loop on two", test::LoopOnTwo("While"), loop, {"loop:0", "loop:2"}},
      // What is small is sent, what is large is asked for.
      {"large values",
       test::LoopOnTwo("While", R"(
      %size = Const() value=int32[1]{100000} : int32[1]
      %full = Fill(%size, %x) : float32[?] on "/job:worker/task:0"
      %axis = Const() value=int32[1]{0} : int32[1]
      %largest = Max(%full, %axis) : float32 on "/job:worker/task:1"
      %twice = Mul(%largest, %w) : float32 on "/job:worker/task:1")",
                       "twice"),
       loop,
       {"loop:2"}},
      {"texts",
       R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %text = AsString(%n) : string on "/job:worker/task:0"
  %long = StringJoin(%text, %text) separator="a separator that is rather long" : string on "/job:worker/task:1"
  %length = StringLength(%long) : int32 on "/job:worker/task:0"
}
)",
       {{"n", Tensor::Scalar(int32_t{7})}},
       {"long", "length"}},
      {"a branch",
       R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Const() value=float32{3} : float32
  %y = If(%p, %x) then_branch=@double else_branch=@minus : float32
}
func @double(%x: float32) -> (y: float32) {
  %y = AddV2(%x, %x) : float32 on "/job:worker/task:1"
  return %y
}
func @minus(%x: float32) -> (y: float32) {
  %y = Neg(%x) : float32 on "/job:worker/task:0"
  return %y
}
)",
       {{"p", Tensor::Scalar(true)}},
       {"y"}},
      {"an error",
       R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %q = FloorDiv(%n, %zero) : int32 on "/job:worker/task:1"
  %r = AddV2(%q, %n) : int32 on "/job:worker/task:0"
}
)",
       {{"n", Tensor::Scalar(int32_t{7})}},
       {"r"}},
  };
}

// Whether no more is left than protobuf has lost: where there is no memory for a longer list of
// texts, it forgets the object of the one that it was to add.
bool IsNothingLeft(const LiveMemory& before, int64_t tries) {
  constexpr int64_t kTextBytes = 40;  // as malloc counts them
  const LiveMemory now = Live();
  const int64_t blocks = now.blocks - before.blocks;
  return blocks <= tries / 10 && now.bytes - before.bytes <= blocks * kTextBytes;
}

class AllocationFaultsOfClusters : public AllocationFaults {
 protected:
  // Calls `work` with workers of its own, which are gone afterwards: nothing is left behind.
  // Before, it is called with 0 for what is made once and stays.
  void LeavesNothingOnWorkers(const std::string& what,
                              const std::function<void(Workers&, int64_t most)>& work,
                              int64_t most) {
    const auto on_workers = [&](int64_t tries) {
      Workers workers(2);
      work(workers, tries);
    };
    on_workers(0);
    LiveMemory before;
    // There may come to be one more thread, which stays; a leak is there each time.
    for (int i = 0; i < 4; ++i) {
      before = Live();
      on_workers(most);
      if (HasFailure()) return;
      if (Workers::Eventually([&] { return IsNothingLeft(before, most); }, kPatienceNanos)) return;
    }
    ADD_FAILURE() << "left behind by " << what << ": " << Live().blocks - before.blocks
                  << " blocks, " << Live().bytes - before.bytes << " bytes";
  }

 private:
  static constexpr int64_t kPatienceNanos = 2'000'000'000;
};

TEST_F(AllocationFaultsOfClusters, RunsInOneSession) {
  for (const Case& one : Cases()) {
    const std::string what = absl::StrCat("runs of ", one.name);
    LeavesNothingOnWorkers(
        what,
        [&](Workers& workers, int64_t most) {
          const auto session = workers.SessionFor(one.text);
          ASSERT_NE(session, nullptr);
          const auto run = [&](Results& results) {
            results.push_back(session->Run(one.feeds, one.fetches));
          };
          Try({what, run}, most);
        },
        Most(150));
    if (HasFailure()) return;
  }
}

TEST_F(AllocationFaultsOfClusters, SessionsThatCompileAndRun) {
  for (const Case& one : Cases()) {
    const std::string what = absl::StrCat("sessions of ", one.name);
    LeavesNothingOnWorkers(
        what,
        [&](Workers& workers, int64_t most) {
          const auto engine = workers.Connect();
          ASSERT_TRUE(engine.ok()) << engine.status();
          const auto program = testing::SessionFor(one.text)->shared_program();
          const auto run = [&](Results& results) {
            SessionOptions options;
            options.cluster = *engine;
            const auto session = Session::Create(program, options);
            results.push_back(ResultOf(session.status()));
            if (session.ok()) results.push_back((*session)->Run(one.feeds, one.fetches));
          };
          Try({what, run}, most);
        },
        std::min<int64_t>(Most(100), 2000));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace gyre::faults
