// Structured control flow: what the golden graphs, which come from elsewhere, cannot show.
#include <optional>
#include <thread>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/attention.h"
#include "gyre/core/options.h"
#include "ir/text/literal.h"
#include "support/recursion.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// down(n) = n == 0 ? 0 : down(n - 1) + 1, which is as deep as it is slow.
const std::string kRecursion = std::string(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %y = PartitionedCall(%n) f=@down : int32
}

)") + DownFunctions("int32");

TEST(Calls, RecursionIsAsDeepAsMemoryAllows) {
  auto session = SessionFor(kRecursion);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(100'000)}}, "y:0"),
            100'000);
}

TEST(Calls, EndlessRecursionRunsIntoTheBudgetAndSaysSo) {
  auto session = SessionFor(R"(
graph {
  %y = PartitionedCall() f=@forever : int32
}
func @forever() -> (y: int32) {
  %y = PartitionedCall() f=@forever : int32
  return %y
}
)");
  ASSERT_NE(session, nullptr);
  RunOptions options;
  options.budget_bytes = 16 << 20;
  const absl::Status status = RunStatus(*session, {}, "y:0", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(status.message(), "in function forever")) << status;
  EXPECT_LT(status.message().size(), 2000u) << "deep calls are summed up";
}

constexpr char kLoop[] = R"(
graph {
  %n = Placeholder() dtype=int64 shape=() : int64
  %x = Placeholder() dtype=float32 : float32
  %loop = StatelessWhile(%n, %x) cond=@more body=@step : (int64, float32)
}
func @more(%i: int64, %x: float32) -> (p: bool) {
  %zero = Const() value=int64{0} : int64
  %p = Greater(%i, %zero) : bool
  return %p
}
func @step(%i: int64, %x: float32) -> (i: int64, x: float32) {
  %one = Const() value=int64{1} : int64
  %i1 = Sub(%i, %one) : int64
  %half = Const() value=float32{0.5} : float32
  %x1 = Mul(%x, %half) : float32
  return %i1, %x1
}
)";

TEST(While, ZeroIterationsReturnTheInputs) {
  auto session = SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  const Feeds feeds = {{"n:0", Tensor::Scalar<int64_t>(0)}, {"x:0", Tensor::Scalar<float>(8)}};
  EXPECT_EQ(RunScalar<float>(*session, feeds, "loop:1"), 8.0f);
}

TEST(While, DeadlineEndsAnEndlessLoopAndTheSessionGoesOn) {
  auto session = SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  RunOptions options;
  options.timeout_ms = 30;
  const Feeds endless = {{"n:0", Tensor::Scalar<int64_t>(int64_t{1} << 60)},
                         {"x:0", Tensor::Scalar<float>(8)}};
  const absl::Status status = RunStatus(*session, endless, "loop:1", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(status.message(), "iteration"))
      << "says how far it came: " << status;
  const Feeds feeds = {{"n:0", Tensor::Scalar<int64_t>(3)}, {"x:0", Tensor::Scalar<float>(8)}};
  EXPECT_EQ(RunScalar<float>(*session, feeds, "loop:1"), 1.0f);
}

// Cancels a run when it attends for the `at`-th time.
struct CancelAt {
  int64_t at = 0;
  Cancellation* cancellation = nullptr;
};
CancelAt cancel_at;

// Loops pause, so that others have their turn: they may be given up there, too.
TEST(While, WhereverALoopIsGivenUpTheErrorNamesTheIteration) {
  SessionOptions interpreted;
  interpreted.compile = CompileMode::kNever;
  auto session = SessionFor(kLoop, interpreted);
  ASSERT_NE(session, nullptr);
  const Feeds endless = {{"n:0", Tensor::Scalar<int64_t>(int64_t{1} << 60)},
                         {"x:0", Tensor::Scalar<float>(8)}};
  Attention::HandleHere([] {
    if (--cancel_at.at == 0) cancel_at.cancellation->Cancel();
  });
  Attention::Ask();
  constexpr int64_t kPauseAt = 16384;
  for (int64_t at = kPauseAt - 4; at < kPauseAt + 20; ++at) {
    Cancellation cancellation;
    cancel_at = {at, &cancellation};
    RunOptions options;
    options.cancellation = &cancellation;
    const absl::Status status = RunStatus(*session, endless, "loop:1", options);
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    EXPECT_TRUE(absl::StrContains(status.message(), "in iteration ")) << at << ": " << status;
  }
  Attention::Withdraw();
  Attention::HandleHere(nullptr);
}

TEST(While, CancellationFromAnotherThreadEndsALoop) {
  auto session = SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread canceller([&] { cancellation.Cancel(absl::CancelledError("enough")); });
  const Feeds endless = {{"n:0", Tensor::Scalar<int64_t>(int64_t{1} << 60)},
                         {"x:0", Tensor::Scalar<float>(8)}};
  const absl::Status status = RunStatus(*session, endless, "loop:1", options);
  canceller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(absl::StrContains(status.message(), "enough")) << status;
}

// %loop goes round for ever; %bad fails once it is its turn. Given windows, loops are made of
// tokens; without (0), they run on registers.
std::string LoopBesideAnError(absl::string_view nodes) {
  return absl::StrCat(R"(
graph {
  %x = Placeholder() dtype=int32 : int32
  %zero = Const() value=int32{0} : int32
  %minus = Neg(%x) : int32
)",
                      nodes, R"(
}
func @below(%i: int32) -> (p: bool) {
  %n = Const() value=int32{1000} : int32
  %p = Less(%i, %n) : bool
  return %p
}
func @around(%i: int32) -> (j: int32) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32
  %n = Const() value=int32{1000} : int32
  %j = FloorMod(%next, %n) : int32
  return %j
}
func @recursive(%i: int32, %again: bool) -> (r: int32) {
  %loop = While(%i) cond=@below body=@around : int32
  %r = If(%again, %loop, %again) then_branch=@recursive else_branch=@end : int32
  return %r
}
func @end(%i: int32, %again: bool) -> (r: int32) {
  %r = Identity(%i) : int32
  return %r
}
)");
}

constexpr absl::string_view kLoopNode =
    "  %loop = While(%minus) cond=@below body=@around : int32\n";
// The same in a function that may call itself, and is not written out.
constexpr absl::string_view kCallNode =
    "  %no = Const() value=bool{false} : bool\n"
    "  %loop = PartitionedCall(%minus, %no) f=@recursive : int32\n";
constexpr absl::string_view kBadNodes =
    "  %plus = Neg(%minus) : int32\n  %bad = FloorDiv(%plus, %zero) : int32\n";

class EndlessLoop : public ::testing::TestWithParam<std::tuple<int, int, std::string>> {};

TEST_P(EndlessLoop, DoesNotHideAnError) {
  const auto& [window, threads, engine] = GetParam();
  SessionOptions session_options;
  session_options.engine = *ParseEngineKind(engine);
  session_options.parallel.window = window;
  session_options.parallel.threads = threads;
  RunOptions options;
  options.timeout_ms = 20'000;
  for (const auto& nodes :
       {absl::StrCat(kLoopNode, kBadNodes), absl::StrCat(kBadNodes, kLoopNode),
        absl::StrCat(kCallNode, kBadNodes), absl::StrCat(kBadNodes, kCallNode)}) {
    auto session = SessionFor(LoopBesideAnError(nodes), session_options);
    ASSERT_NE(session, nullptr);
    for (const auto& fetches : {std::vector<std::string>{"loop:0", "bad:0"}, {"bad:0", "loop:0"}}) {
      const absl::Status status =
          session->Run({{"x:0", Tensor::Scalar<int32_t>(1)}}, fetches, {}, options).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "bad (FloorDiv)")) << status;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, EndlessLoop,
                         ::testing::Combine(::testing::Values(0, 1, 2, 32), ::testing::Values(1, 2),
                                            ::testing::Values("dataflow", "compiled")));

TEST(If, BranchNotTakenDoesNotRun) {
  auto session = SessionFor(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Placeholder() dtype=int32 : int32
  %y = StatelessIf(%p, %x) then_branch=@divide else_branch=@keep : int32
}
func @divide(%x: int32) -> (y: int32) {
  %zero = Const() value=int32{0} : int32
  %quotient = FloorDiv(%x, %zero) : int32
  return %quotient
}
func @keep(%x: int32) -> (y: int32) {
  return %x
}
)");
  ASSERT_NE(session, nullptr);
  const Tensor x = Tensor::Scalar<int32_t>(7);
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"p:0", Tensor::Scalar<bool>(false)}, {"x:0", x}}, "y:0"),
            7);
  const absl::Status status =
      RunStatus(*session, {{"p:0", Tensor::Scalar<bool>(true)}, {"x:0", x}}, "y:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "at node quotient (FloorDiv)")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "in the then branch (function divide) of StatelessIf node y"))
      << status;
}

// A loop on registers is one node, another is many: neither may go because its value does.
TEST(If, WhatItIsGivenRunsWhetherABranchUsesItOrNot) {
  constexpr char kText[] = R"(
graph {
  %p = Placeholder() dtype=bool shape=()
  %zero = Const() value=int32{0}
  %seven = Const() value=int32{7}
  %broken = FloorDiv(%seven, %start)
  %start = Placeholder() dtype=int32 shape=()
  %loop = StatelessWhile(%start) cond=@more body=@divide : int32
  %plain = StatelessIf(%p, %seven, %broken) then_branch=@first else_branch=@first Tout=[int32]
  %after_loop = StatelessIf(%p, %seven, %loop) then_branch=@first else_branch=@first Tout=[int32]
}
func @first(%x: int32, %y: int32) -> (z: int32) {
  %z = Identity(%x)
  return %z
}
func @more(%i: int32) -> (go: bool) {
  %two = Const() value=int32{2}
  %go = Less(%i, %two)
  return %go
}
func @divide(%i: int32) -> (j: int32) {
  %one = Const() value=int32{1}
  %quotient = FloorDiv(%one, %i)
  %next = AddV2(%i, %one)
  %j = Maximum(%quotient, %next)
  return %j
}
)";
  for (const EngineKind engine : kEngineKinds) {
    for (const int window : {0, 1}) {
      auto session = SessionFor(kText, {.engine = engine, .parallel = {.window = window}});
      ASSERT_NE(session, nullptr);
      for (const char* fetch : {"plain:0", "after_loop:0"}) {
        const auto run = [&](int32_t start) {
          return RunStatus(*session,
                           {{"p:0", Tensor::Scalar(true)}, {"start:0", Tensor::Scalar(start)}},
                           fetch)
              .code();
        };
        EXPECT_EQ(run(1), absl::StatusCode::kOk) << to_string(engine) << ", window " << window;
        EXPECT_EQ(run(0), absl::StatusCode::kInvalidArgument)
            << to_string(engine) << ", window " << window;
      }
    }
  }
}

// 10 or 20 by an If, and how often a While with that condition runs (its body hands on `end`).
std::string Conditions(const std::string& dtype, const std::string& source,
                       const std::string& end) {
  return absl::StrReplaceAll(R"(
graph {
  %c = SOURCE
  %zero = Const() value=int32{0} : int32
  %branch = If(%c) then_branch=@ten else_branch=@twenty Tout=[int32]
  %loop = While(%c, %zero) cond=@same body=@count
}
func @ten() -> (y: int32) { %y = Const() value=int32{10} return %y }
func @twenty() -> (y: int32) { %y = Const() value=int32{20} return %y }
func @same(%c: TYPE, %n: int32) -> (c: TYPE) { return %c }
func @count(%c: TYPE, %n: int32) -> (c: TYPE, n: int32) {
  %end = Const() value=END
  %one = Const() value=int32{1}
  %more = AddV2(%n, %one)
  return %end, %more
}
)",
                             {{"SOURCE", source}, {"TYPE", dtype}, {"END", end}});
}

TEST(Conditions, MeanTheSameOnEveryEngineInEveryForm) {
  struct Case {
    std::string dtype, value, end;
    std::optional<bool> truth;  // none: an error
  };
  const Case cases[] = {
      {"bool", "bool{true}", "bool{false}", true},
      {"bool", "bool[0]{}", "bool{false}", false},
      {"bool", "bool[2]{false, false}", "bool{false}", true},
      {"float32", "float32{nan}", "float32{-0}", true},
      {"float32", "float32[1]{0}", "float32[0]{}", true},
      {"float16", "float16{0.5}", "float16{0}", true},
      {"uint64", "uint64{0}", "uint64{0}", false},
      {"string", "string{\"\"}", "string{\"\"}", false},
      {"string", "string[1]{\"\"}", "string{\"\"}", true},
      {"complex64", "complex64[0]{}", "complex64[0]{}", false},
      {"complex64", "complex64{(1,2)}", "complex64[0]{}", std::nullopt},
  };
  for (const Case& c : cases) {
    for (const EngineKind engine : kEngineKinds) {
      for (const char* form : {"imported", "relowered", "optimized"}) {
        for (const bool is_constant : {true, false}) {
          const std::string source =
              is_constant ? "Const() value=" + c.value : "Placeholder() dtype=" + c.dtype;
          SCOPED_TRACE(absl::StrCat(engine, ", ", form, ", ", source, ", ", c.value));
          auto session = SessionFor(Conditions(c.dtype, source, c.end),
                                    {.engine = engine, .form = *ParseProgramForm(form)});
          ASSERT_NE(session, nullptr);
          TextReader reader(c.value);
          Feeds feeds;
          if (!is_constant) feeds = {{"c:0", std::get<Tensor>(*ReadAttrValue(reader))}};
          const auto result = session->Run(feeds, {"branch:0", "loop:1"});
          if (!c.truth) {
            EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
            EXPECT_TRUE(absl::StrContains(result.status().message(), "neither true nor false"))
                << result.status();
            continue;
          }
          ASSERT_TRUE(result.ok()) << result.status();
          EXPECT_EQ((*result)[0].scalar<int32_t>(), *c.truth ? 10 : 20);
          EXPECT_EQ((*result)[1].scalar<int32_t>(), *c.truth ? 1 : 0);
        }
      }
    }
  }
}

// The counter is [0] after one iteration, in spite of what the loop and its functions declare, and
// so is the condition, which ends the loop.
TEST(Conditions, GoByWhatIsThereWhateverShapesAreDeclared) {
  constexpr char kText[] = R"(
graph {
  %start = Const() value=int32{0}
  %loop = While(%start) cond=@less body=@add output_shapes=[()] : int32
  %rank = Rank(%loop) : int32
}
func @less(%i: int32[]) -> (go: bool) {
  %four = Const() value=int32{4}
  %go = Less(%i, %four)
  return %go
}
func @add(%i: int32[]) -> (j: int32) {
  %nothing = Const() value=int32[0]{}
  %j = AddV2(%i, %nothing)
  return %j
}
)";
  for (const EngineKind engine : kEngineKinds) {
    for (const char* form : {"imported", "relowered", "optimized"}) {
      for (const int window : {0, 1}) {
        SCOPED_TRACE(absl::StrCat(engine, ", ", form, ", window ", window));
        auto session = SessionFor(
            kText,
            {.engine = engine, .form = *ParseProgramForm(form), .parallel = {.window = window}});
        ASSERT_NE(session, nullptr);
        const auto result = session->Run({}, {"loop:0", "rank:0"});
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ((*result)[0].num_elements(), 0);
        EXPECT_EQ((*result)[1].scalar<int32_t>(), 1);
      }
    }
  }
}

TEST(For, RunsOncePerValueOfItsCounter) {
  auto session = SessionFor(R"(
graph {
  %start = Const() value=int32{2} : int32
  %limit = Placeholder() dtype=int32 shape=() : int32
  %delta = Const() value=int32{3} : int32
  %sum = Const() value=int32{0} : int32
  %for = For(%start, %limit, %delta, %sum) body=@add : int32
}
func @add(%i: int32, %sum: int32) -> (sum: int32) {
  %y = AddV2(%sum, %i) : int32
  return %y
}
)");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"limit:0", Tensor::Scalar<int32_t>(9)}}, "for:0"),
            2 + 5 + 8);
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"limit:0", Tensor::Scalar<int32_t>(2)}}, "for:0"), 0);
  EXPECT_EQ(RunStatus(*session, {{"limit:0", Tensor::Scalar<int32_t>(1)}}, "for:0").code(),
            absl::StatusCode::kInvalidArgument);
}

// A consumer that waits for a producer in another branch of the same run must not stop the
// producer.
TEST(Queues, DequeueWaitsForAnEnqueueOfTheSameRun) {
  auto session = SessionFor(kDequeueBeforeEnqueue);
  ASSERT_NE(session, nullptr);
  const auto result = session->Run({}, {"y:0"}, {"put"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].scalar<float>(), 16.0f);
}

TEST(Branches, WithoutResultsOrEffectsCanBeTargets) {
  auto session = SessionFor(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %if = StatelessIf(%p) then_branch=@nothing else_branch=@nothing Tin=[] Tout=[]
}
func @nothing() -> () {
  %x = NoOp()
}
)");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->Run({{"p:0", Tensor::Scalar(true)}}, {}, {"if"}).ok());
}

// Nobody knows the type of what an unknown op makes, but it can be fed.
TEST(UnknownOps, CanBeFedIntoABranchThatWaitsForAllItsInputs) {
  auto session = SessionFor(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %c = Const() value=float32{1} : float32
  %x = NoSuchOp()
  %s = Switch(%c, %p) : (float32, float32)
  %y = If(%p, %x, %s:1) then_branch=@first else_branch=@second Tin=[float32, float32] Tout=[float32] : float32
}
func @first(%x: float32, %c: float32) -> (y: float32) {
  return %x
}
func @second(%x: float32, %c: float32) -> (y: float32) {
  return %c
}
)");
  ASSERT_NE(session, nullptr);
  const Feeds taken = {{"p:0", Tensor::Scalar(true)}, {"x:0", Tensor::Scalar(2.5f)}};
  EXPECT_EQ(RunScalar<float>(*session, taken, "y:0"), 2.5f);
  const absl::Status unfed = RunStatus(*session, {{"p:0", Tensor::Scalar(true)}}, "y:0");
  EXPECT_TRUE(absl::StrContains(unfed.message(), "NoSuchOp")) << unfed;
}

TEST(Random, DiffersBetweenIterationsAndRunsButNotBetweenWindows) {
  constexpr char kText[] = R"(
graph {
  %shape = Const() value=int32[0]{} : int32
  %zero = Const() value=int32{0} : int32
  %sum = Const() value=float32{0} : float32
  %n = Const() value=int32{4} : int32
  %one = Const() value=int32{1} : int32
  %for = For(%zero, %n, %one, %sum, %sum) body=@draw : (float32, float32)
}
func @draw(%i: int32, %last: float32, %older: float32) -> (last: float32, older: float32) {
  %shape = Const() value=int32[0]{} : int32
  %x = RandomUniform(%shape) dtype=float32 : float32
  return %x, %last
}
)";
  std::vector<std::pair<float, float>> draws;
  for (const int window : {1, 8}) {
    SessionOptions options;
    options.seed = 7;
    options.parallel.window = window;
    auto session = SessionFor(kText, options);
    ASSERT_NE(session, nullptr);
    for (int run = 0; run < 2; ++run) {
      const auto result = session->Run({}, {"for:0", "for:1"});
      ASSERT_TRUE(result.ok()) << result.status();
      draws.emplace_back((*result)[0].scalar<float>(), (*result)[1].scalar<float>());
      EXPECT_NE(draws.back().first, draws.back().second) << "two iterations draw different numbers";
    }
    EXPECT_NE(draws[draws.size() - 1], draws[draws.size() - 2])
        << "two runs draw different numbers";
  }
  EXPECT_EQ(draws[0], draws[2]);
  EXPECT_EQ(draws[1], draws[3]);
}

}  // namespace
}  // namespace gyre::testing
