// The corners of frames: what is dead when it enters, what is left when nothing goes on, what no
// budget has room for. Both engines must agree on all of it.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "support/recursion.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

// What every engine makes of it, in the end with several threads and in several orders.
std::vector<std::pair<std::string, SessionOptions>> Configurations() {
  std::vector<std::pair<std::string, SessionOptions>> all;
  SessionOptions options;
  options.seed = 7;
  options.engine = EngineKind::kReference;
  all.emplace_back("reference", options);
  options.engine = EngineKind::kDataflow;
  for (const int threads : {1, 2, 4}) {
    options.parallel.threads = threads;
    all.emplace_back(absl::StrCat("dataflow, threads ", threads), options);
  }
  for (const int window : {1, 4}) {
    options.parallel.window = window;
    all.emplace_back(absl::StrCat("dataflow, window ", window), options);
  }
  for (const uint64_t seed : {1, 2, 3}) {
    SessionOptions spread = options;
    spread.devices = "cpu:2";
    spread.testing.spread_seed = seed;
    all.emplace_back(absl::StrCat("dataflow, on two devices, seed ", seed), spread);
    spread.devices = "cpu:1,null:1";
    all.emplace_back(absl::StrCat("dataflow, beside a null device, seed ", seed), spread);
    options.testing.schedule_seed = seed;
    all.emplace_back(absl::StrCat("dataflow, schedule seed ", seed), options);
  }
  return all;
}

RunResult RunOn(const std::string& text, const SessionOptions& options, const Feeds& feeds,
                const std::vector<std::string>& fetches, const RunOptions& run = {}) {
  auto session = SessionFor(text, options);
  if (session == nullptr) return absl::InternalError("no session");
  return session->Run(feeds, fetches, {}, run);
}

// A loop that runs `n` times. A second, constant value enters on a path not taken, and leaves at
// once by an Exit of its own.
constexpr char kDeadInvariant[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %no = Const() value=bool{false} : bool
  %zero = Const() value=int32{0} : int32
  %seven = Const() value=int32{7} : int32
  %sw = Switch(%seven, %no) : (int32, int32)
  %enter = Enter(%zero) frame_name="loop" : int32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %dead = Enter(%sw:1) frame_name="loop" is_constant=true : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %one = Const(^%switch) value=int32{1} : int32
  %add = AddV2(%switch:1, %one) : int32
  %next = NextIteration(%add) : int32
  %exit = Exit(%switch) : int32
  %gone = Exit(%dead) : int32
  %all = ControlTrigger(^%gone, ^%exit)
  %after = Const(^%all) value=int32{5} : int32
}
)";

TEST(Frames, DeadConstantLeavesTheLoopDead) {
  for (const auto& [name, options] : Configurations()) {
    SCOPED_TRACE(name);
    for (const int32_t n : {0, 1, 2, 20}) {
      const RunResult result =
          RunOn(kDeadInvariant, options, {{"n:0", Tensor::Scalar(n)}}, {"after:0", "exit:0"});
      ASSERT_TRUE(result.ok()) << "n = " << n << ": " << result.status();
      EXPECT_EQ((*result)[0].scalar<int32_t>(), 5);
      EXPECT_EQ((*result)[1].scalar<int32_t>(), n);
    }
  }
}

// y = 10 y + pop() for a stack of 1 … 6, where nothing orders the pops but that the loop says, by
// one of its Enters, that it has one iteration at a time. Pops wait for a detour, the counter does
// not.
constexpr char kUnorderedPops[] = R"(
graph {
  %any = Const() value=int32{-1} : int32
  %one = Const() value=int32{1} : int32
  %two = Const() value=int32{2} : int32
  %three = Const() value=int32{3} : int32
  %four = Const() value=int32{4} : int32
  %five = Const() value=int32{5} : int32
  %six = Const() value=int32{6} : int32
  %stack = StackV2(%any) elem_type=int32 : resource
  %push1 = StackPushV2(%stack, %one) : int32
  %push2 = StackPushV2(%stack, %two, ^%push1) : int32
  %push3 = StackPushV2(%stack, %three, ^%push2) : int32
  %push4 = StackPushV2(%stack, %four, ^%push3) : int32
  %push5 = StackPushV2(%stack, %five, ^%push4) : int32
  %push6 = StackPushV2(%stack, %six, ^%push5) : int32
  %start = Sub(%six, %push6, ^%push6) : int32
  %handle = Enter(%stack) frame_name="loop" is_constant=true parallel_iterations=32 : resource
  %n = Enter(%six) frame_name="loop" is_constant=true parallel_iterations=32 : int32
  %ten = Enter(%ten0) frame_name="loop" is_constant=true parallel_iterations=32 : int32
  %ten0 = Const() value=int32{10} : int32
  %i0 = Enter(%start) frame_name="loop" parallel_iterations=32 : int32
  %y0 = Enter(%start) frame_name="loop" parallel_iterations=1 : int32
  %i = Merge(%i0, %i2) : (int32, int32)
  %y = Merge(%y0, %y2) : (int32, int32)
  %less = Less(%i, %n) : bool
  %go = LoopCond(%less) : bool
  %i1 = Switch(%i, %go) : (int32, int32)
  %y1 = Switch(%y, %go) : (int32, int32)
  %detour1 = Square(%i1:1) : int32
  %detour2 = Square(%detour1) : int32
  %detour3 = Square(%detour2) : int32
  %pop = StackPopV2(%handle, ^%detour3) elem_type=int32 : int32
  %shifted = Mul(%y1:1, %ten) : int32
  %sum = AddV2(%shifted, %pop) : int32
  %step = Const(^%i1) value=int32{1} : int32
  %next = AddV2(%i1:1, %step) : int32
  %i2 = NextIteration(%next) : int32
  %y2 = NextIteration(%sum) : int32
  %exit = Exit(%y1) : int32
}
)";

TEST(Frames, WhatALoopSaysOfItsIterationsNoWindowWidens) {
  std::vector<std::pair<std::string, SessionOptions>> all = Configurations();
  for (size_t i = 0, n = all.size(); i < n; ++i) {
    for (const int window : {1, 32}) {
      SessionOptions options = all[i].second;
      options.parallel.window = window;
      all.emplace_back(absl::StrCat(all[i].first, ", window ", window), options);
    }
  }
  for (const auto& [name, plain] : all) {
    for (const char* form : {"imported", "raised", "relowered", "optimized"}) {
      SCOPED_TRACE(absl::StrCat(name, ", ", form));
      SessionOptions options = plain;
      options.form = *ParseProgramForm(form);
      const RunResult result = RunOn(kUnorderedPops, options, {}, {"exit:0"});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ((*result)[0].scalar<int32_t>(), 654321);
    }
  }
}

// A loop with calls that stay calls (they recurse), so that no stretch of nodes is long.
const std::string kLoopOfCalls = std::string(R"(
graph {
  %zero = Const() value=int64{0} : int64
  %w = StatelessWhile(%zero) cond=@more body=@step : int64
}
func @more(%i: int64) -> (p: bool) {
  %n = Const() value=int64{1000000000000} : int64
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int64) -> (j: int64) {
  %two = Const() value=int64{2} : int64
  %call = PartitionedCall(%two) f=@down : int64
  %one = Const(^%call) value=int64{1} : int64
  %j = AddV2(%i, %one) : int64
  return %j
}
)") + DownFunctions("int64");

TEST(Frames, DeadlineEndsAnEndlessLoopOfCalls) {
  for (const auto& [name, options] : Configurations()) {
    SCOPED_TRACE(name);
    RunOptions run;
    run.timeout_ms = 20;
    EXPECT_EQ(RunOn(kLoopOfCalls, options, {}, {"w:0"}, run).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
}

TEST(Frames, DeadlineEndsAnEndlessLoopOfAsynchronousOps) {
  constexpr char kText[] = R"(
graph {
  %q = FIFOQueueV2() component_types=[int64] shared_name="q" : resource
  %zero = Const() value=int64{0} : int64
  %w = While(%zero, %q) cond=@more body=@step : (int64, resource)
}
func @more(%i: int64, %q: resource) -> (p: bool) {
  %n = Const() value=int64{1000000000000} : int64
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int64, %q: resource) -> (j: int64, q: resource) {
  %put = QueueEnqueueV2(%q, %i)
  %get = QueueDequeueV2(%q, ^%put) component_types=[int64] : int64
  %one = Const() value=int64{1} : int64
  %j = AddV2(%get, %one) : int64
  return %j, %q
}
)";
  for (const auto& [name, options] : Configurations()) {
    SCOPED_TRACE(name);
    RunOptions run;
    run.timeout_ms = 20;
    EXPECT_EQ(RunOn(kText, options, {}, {"w:0"}, run).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
}

// A budget that is a byte too small for something is a sentence, whatever that something is.
TEST(Frames, AnyBudgetIsEnoughOrIsReportedAsUsedUp) {
  const std::string kNested = std::string(R"(
graph {
  %unneeded = Const() value=int32{1} : int32
  %n = Const() value=int32{3} : int32
  %sum = Const() value=int32{0} : int32
  %outer = StatelessWhile(%n, %sum) cond=@more body=@step : (int32, int32)
}
func @more(%i: int32, %s: int32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%i, %zero) : bool
  return %p
}
func @step(%i: int32, %s: int32) -> (i1: int32, s1: int32) {
  %inner = StatelessWhile(%i, %s) cond=@more body=@inner : (int32, int32)
  %down = PartitionedCall(%i) f=@down : int32
  %s1 = AddV2(%inner:1, %down) : int32
  %one = Const() value=int32{1} : int32
  %i1 = Sub(%i, %one) : int32
  return %i1, %s1
}
func @inner(%i: int32, %s: int32) -> (i1: int32, s1: int32) {
  %one = Const() value=int32{1} : int32
  %i1 = Sub(%i, %one) : int32
  %s1 = AddV2(%s, %i) : int32
  return %i1, %s1
}
)") + DownFunctions("int32");
  for (const auto& [name, options] : Configurations()) {
    SCOPED_TRACE(name);
    int enough = 0;
    for (const auto& [text, fetch] :
         {std::pair<std::string, std::string>(kNested, "outer:1"), {kDeadInvariant, "exit:0"}}) {
      auto session = SessionFor(text, options);
      ASSERT_NE(session, nullptr);
      for (int64_t bytes = 1; bytes < 60'000; bytes += 24) {
        RunOptions run;
        run.budget_bytes = bytes;
        // In a session of its own, what earlier runs have left is not there to be used.
        const Feeds feeds =
            fetch == "exit:0" ? Feeds{{"n:0", Tensor::Scalar<int32_t>(4)}} : Feeds{};
        if (bytes % 960 == 1) session = SessionFor(text, options);
        const RunResult result = session->Run(feeds, {fetch}, {}, run);
        if (result.ok()) {
          ++enough;
        } else {
          ASSERT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted)
              << bytes << ": " << result.status();
          ASSERT_FALSE(absl::StrContains(result.status().message(), "unneeded")) << result.status();
        }
      }
    }
    EXPECT_GT(enough, 10);
  }
}

}  // namespace
}  // namespace gyre::testing
