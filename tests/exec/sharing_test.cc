// Runs that several threads work on, and several runs at once: results, errors and cancellation are
// those of a run alone. The thread sanitizer watches these.
#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "exec/heavy_programs.h"
#include "gyre/core/options.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

constexpr int32_t kIterations = 12;

SessionOptions With(int threads, const std::string& engine = "dataflow") {
  SessionOptions options;
  options.engine = *ParseEngineKind(engine);
  options.parallel.threads = threads;
  options.seed = 7;
  return options;
}

RunResult Wanted(const std::string& text, int32_t n) {
  auto session = SessionFor(text, With(1, "reference"));
  if (session == nullptr) return absl::InternalError("no session");
  RunResult result = session->Run(HeavyFeeds(n), {"y:0"});
  EXPECT_TRUE(result.ok()) << result.status();
  return result;
}

// Counts the threads that joined.
class Joins final : public RunObserver {
 public:
  absl::Status OnFired(const Firing&) override { return absl::OkStatus(); }
  void OnJoined(int, int64_t, int64_t) override { count_.fetch_add(1); }
  int count() const { return count_.load(); }

 private:
  std::atomic<int> count_{0};
};

TEST(Sharing, HeavyProgramsComputeTheSameOnAnyNumberOfThreads) {
  for (const auto& [name, text] : HeavyPrograms()) {
    const RunResult want = Wanted(text, kIterations);
    for (const int threads : {1, 2, 3, 4}) {
      SCOPED_TRACE(absl::StrCat(name, " on ", threads, " threads"));
      auto session = SessionFor(text, With(threads));
      ASSERT_NE(session, nullptr);
      for (int run = 0; run < 20; ++run) {
        const auto difference = BitDifference(session->Run(HeavyFeeds(kIterations), {"y:0"}), want);
        ASSERT_FALSE(difference) << "run " << run << ": " << *difference;
      }
    }
  }
}

TEST(Sharing, ThreadsDoJoin) {
  if (NumProcessors() < 2) GTEST_SKIP() << "a single processor";
  auto session = SessionFor(HeavyProgram("loop"), With(2));
  ASSERT_NE(session, nullptr);
  Joins joins;
  RunOptions run;
  run.observer = &joins;
  // On a busy machine the other thread may be long in coming.
  constexpr int64_t kPatienceNanos = 20'000'000'000;
  const int64_t begin = SystemClock().NowNanos();
  while (joins.count() == 0 && SystemClock().NowNanos() - begin < kPatienceNanos) {
    ASSERT_TRUE(session->Run(HeavyFeeds(100), {"y:0"}, {}, run).ok());
  }
  EXPECT_GT(joins.count(), 0) << "or nothing here tests anything";
}

TEST(Sharing, ShortAndLongRunsInTurnReuseWhatTheyLeave) {
  const std::string text = HeavyProgram("nested");
  std::vector<RunResult> want;
  for (const int32_t n : {0, 1, 2, 9}) want.push_back(Wanted(text, n));
  auto session = SessionFor(text, With(4));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 200; ++i) {
    const int which = i % 4;
    const int32_t n[] = {0, 1, 2, 9};
    const auto difference = BitDifference(session->Run(HeavyFeeds(n[which]), {"y:0"}), want[which]);
    ASSERT_FALSE(difference) << "run " << i << ": " << *difference;
  }
}

// One callable and several signatures of one session, from several threads at once; beside them a
// variable that all of them change.
TEST(Sharing, ConcurrentRunsOfOneSession) {
  constexpr char kVariable[] = R"(
  %v = VarHandleOp() dtype=int64 shape=() shared_name="v" : resource
  %v0 = Const() value=int64{0} : int64
  %init = AssignVariableOp(%v, %v0) dtype=int64
  %v1 = Const() value=int64{1} : int64
  %count = AssignAddVariableOp(%v, %v1) dtype=int64
  %peek = ReadVariableOp(%v) dtype=int64 : int64
)";
  constexpr int kThreads = 3;
  constexpr int kRuns = 15;
  for (const auto& [name, plain] : HeavyPrograms()) {
    SCOPED_TRACE(name);
    // The variable's nodes go before the first line of the main graph.
    std::string text = plain;
    const size_t at = text.find("graph {") + 8;
    text.insert(at, kVariable + 1);
    const RunResult want = Wanted(plain, kIterations);
    auto session = SessionFor(text, With(2));
    ASSERT_NE(session, nullptr);
    ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
    auto callable = session->Prepare({"n:0", "x:0"}, {"y:0"}, {"count"});
    ASSERT_TRUE(callable.ok()) << callable.status();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const Tensor feeds[] = {Tensor::Scalar(kIterations), HeavyInput()};
        for (int i = 0; i < kRuns; ++i) {
          const bool prepared = (i + t) % 2 == 0;
          const RunResult got = prepared
                                    ? callable->Run(feeds)
                                    : session->Run(HeavyFeeds(kIterations), {"y:0"}, {"count"});
          const auto difference = BitDifference(got, want);
          EXPECT_FALSE(difference) << *difference;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(RunScalar<int64_t>(*session, {}, "peek:0"), kThreads * kRuns);
  }
}

// Fails in iteration 5, while others are at work.
TEST(Sharing, RunsThatFailWhileOthersHelp) {
  std::string text = HeavyProgram("loop");
  const std::string from = "  %xf = Mul(%x, %f) : float32\n";
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), R"(  %five = Const() value=int32{5} : int32
  %left = Sub(%five, %i) : int32
  %quotient = FloorDiv(%one, %left) : int32
  %xf = Mul(%x, %f, ^%quotient) : float32
)");
  for (const int threads : {1, 2, 4}) {
    auto session = SessionFor(text, With(threads));
    ASSERT_NE(session, nullptr);
    for (int i = 0; i < 100; ++i) {
      const absl::Status status = session->Run(HeavyFeeds(40), {"y:0"}).status();
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      ASSERT_TRUE(absl::StrContains(status.message(), "at node quotient (FloorDiv)")) << status;
      ASSERT_TRUE(absl::StrContains(status.message(), "in iteration 5 of the body")) << status;
      if (i % 10 == 0) {
        ASSERT_TRUE(session->Run(HeavyFeeds(5), {"y:0"}).ok());
      }
    }
  }
}

TEST(Sharing, CancelledFromAnotherThreadWhileOthersHelp) {
  std::mt19937_64 random(TestSeed());
  for (const auto& [name, text] : HeavyPrograms()) {
    if (name == "wide" || name == "tree") continue;  // they end
    SCOPED_TRACE(absl::StrCat(name, ", GYRE_TEST_SEED=", TestSeed()));
    auto session = SessionFor(text, With(2));
    ASSERT_NE(session, nullptr);
    const RunResult want = session->Run(HeavyFeeds(kIterations), {"y:0"});
    for (int i = 0; i < 20; ++i) {
      Cancellation cancellation;
      RunOptions run;
      run.cancellation = &cancellation;
      if (i % 3 == 0) run.timeout_ms = 3;  // whichever comes first
      const int64_t wait = static_cast<int64_t>(random() % 4'000'000);
      std::thread canceller([&] {
        const int64_t until = SystemClock().NowNanos() + wait;
        while (SystemClock().NowNanos() < until) std::this_thread::yield();
        cancellation.Cancel(absl::CancelledError("enough"));
      });
      const absl::StatusCode code =
          session->Run(HeavyFeeds(2'000'000'000), {"y:0"}, {}, run).status().code();
      canceller.join();
      ASSERT_TRUE(code == absl::StatusCode::kCancelled ||
                  (i % 3 == 0 && code == absl::StatusCode::kDeadlineExceeded))
          << code;
    }
    const auto difference = BitDifference(session->Run(HeavyFeeds(kIterations), {"y:0"}), want);
    EXPECT_FALSE(difference) << *difference;
  }
}

}  // namespace
}  // namespace gyre::testing
