// Loops within loops that run on registers, and For: the same values, errors and limits as tokens.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// A While of int32 i from 0 to n, which BODY turns x (float32), k (int32) and a list into %y, %c
// and %m; MORE are more functions.
std::string Nest(const std::string& body, const std::string& more) {
  return absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %none = Const() value=int32[0]{} : int32
  %any = Const() value=int32{-1} : int32
  %l = EmptyTensorList(%none, %any) element_dtype=float32 : variant
  %loop = While(%zero, %n, %x, %zero, %l) cond=@more body=@step : (int32, int32, float32, int32, variant)
  %length = TensorListLength(%loop:4) : int32
}
func @more(%i: int32, %n: int32, %x: float32, %k: int32, %l: variant) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %k: int32, %l: variant) -> (j: int32, n: int32, y: float32, c: int32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  BODY
  return %j, %n, %y, %c, %m
}
MORE
)",
                             {{"BODY", body}, {"MORE", more}});
}

// A While from 0 to i around x, k and the list: each iteration counts one more, and pushes x.
constexpr char kInnerWhile[] = R"(
func @inner_more(%j: int32, %i: int32, %x: float32, %k: int32, %l: variant) -> (p: bool) {
  %p = Less(%j, %i) : bool
  return %p
}
func @inner_step(%j: int32, %i: int32, %x: float32, %k: int32, %l: variant) -> (h: int32, i: int32, y: float32, c: int32, m: variant) {
  %one = Const() value=int32{1} : int32
  %h = AddV2(%j, %one) : int32
  %y = Sin(%x) : float32
  %c = AddV2(%k, %one) : int32
  %m = TensorListPushBack(%l, %y) : variant
  return %h, %i, %y, %c, %m
}
)";
constexpr char kCallsInnerWhile[] = R"(%zero = Const() value=int32{0} : int32
  %w = While(%zero, %i, %x, %k, %l) cond=@inner_more body=@inner_step : (int32, int32, float32, int32, variant)
  %y = Identity(%w:2) : float32
  %c = Identity(%w:3) : int32
  %m = Identity(%w:4) : variant)";

TEST(NestedLoops, AWhileWithinAWhile) {
  for (const int n : {0, 1, 2, 9})
    ExpectAgreement(Nest(kCallsInnerWhile, kInnerWhile), LoopFeeds(n, 0.3f),
                    {"loop:0", "loop:2", "loop:3", "length:0"});
  EXPECT_EQ(RunScalar<int32_t>(*SessionFor(Nest(kCallsInnerWhile, kInnerWhile)), LoopFeeds(9, 1),
                               "length:0"),
            36);
}

TEST(NestedLoops, AWhileWithinABranchWithinAWhile) {
  const std::string body = R"(%two = Const() value=int32{2} : int32
  %r = FloorMod(%i, %two) : int32
  %p = Equal(%r, %one) : bool
  %f = If(%p, %i, %x, %k, %l) then_branch=@deep else_branch=@flat : (float32, int32, variant)
  %y = Identity(%f) : float32
  %c = Identity(%f:1) : int32
  %m = Identity(%f:2) : variant)";
  const std::string more = absl::StrCat(kInnerWhile, R"(
func @deep(%i: int32, %x: float32, %k: int32, %l: variant) -> (y: float32, c: int32, m: variant) {
  %zero = Const() value=int32{0} : int32
  %w = While(%zero, %i, %x, %k, %l) cond=@inner_more body=@inner_step : (int32, int32, float32, int32, variant)
  return %w:2, %w:3, %w:4
}
func @flat(%i: int32, %x: float32, %k: int32, %l: variant) -> (y: float32, c: int32, m: variant) {
  %y = Neg(%x) : float32
  return %y, %k, %l
}
)");
  ExpectAgreement(Nest(body, more), LoopFeeds(8, 0.7f), {"loop:2", "loop:3", "length:0"});
}

// A For within the While: from START to LIMIT by DELTA; it adds its index to k.
std::string ForWithin(const std::string& start, const std::string& limit,
                      const std::string& delta) {
  return Nest(absl::StrCat("%start = ", start, " : int32\n  %limit = ", limit,
                           " : int32\n  %delta = ", delta, R"( : int32
  %f = For(%start, %limit, %delta, %x, %k) body=@count : (float32, int32)
  %y = Identity(%f) : float32
  %c = Identity(%f:1) : int32
  %m = Identity(%l) : variant)"),
              R"(
func @count(%j: int32, %x: float32, %k: int32) -> (y: float32, c: int32) {
  %y = Cos(%x) : float32
  %c = AddV2(%k, %j) : int32
  return %y, %c
}
)");
}

TEST(NestedLoops, AForWithinAWhile) {
  const std::string minus_three = "Const() value=int32{-3}";
  ExpectAgreement(ForWithin("Neg(%i)", "Identity(%n)", "Identity(%one)"), LoopFeeds(5, 0.2f),
                  {"loop:2", "loop:3"});
  ExpectAgreement(ForWithin("Mul(%n, %n)", "Identity(%i)", minus_three), LoopFeeds(6, 0.2f),
                  {"loop:2", "loop:3"});
  ExpectAgreement(ForWithin("Identity(%i)", "Identity(%i)", minus_three), LoopFeeds(3, 0.2f),
                  {"loop:2", "loop:3"});
  EXPECT_EQ(RunScalar<int32_t>(*SessionFor(ForWithin("Neg(%i)", "Identity(%n)", "Identity(%one)")),
                               LoopFeeds(3, 1), "loop:3"),
            (0 + 1 + 2) + (-1 + 0 + 1 + 2) + (-2 - 1 + 0 + 1 + 2));
}

TEST(NestedLoops, AForThatLeadsAwayFromItsLimitSaysInWhichIteration) {
  ExpectAgreement(ForWithin("Const() value=int32{2}", "Identity(%i)", "Const() value=int32{-1}"),
                  LoopFeeds(5, 0.2f), {"loop:3"});
  const absl::Status status = RunStatus(
      *SessionFor(ForWithin("Const() value=int32{2}", "Identity(%i)", "Const() value=int32{-1}")),
      LoopFeeds(5, 0.2f), "loop:3");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "in iteration 3 of the body")) << status;
}

constexpr char kFor[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %d = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %loop = For(%zero, %n, %d, %x, %zero) body=@step : (float32, int32)
}
func @step(%i: int32, %x: float32, %k: int32) -> (y: float32, c: int32) {
  %five = Const() value=int32{5} : int32
  %left = Sub(%five, %i) : int32
  %q = FloorDiv(%i, %left) : int32
  %c = AddV2(%k, %q) : int32
  %f = Cast(%i) : float32
  %y = AddV2(%x, %f) : float32
  return %y, %c
}
)";
Feeds ForFeeds(int32_t n, int32_t delta) {
  return {
      {"n:0", Tensor::Scalar(n)}, {"d:0", Tensor::Scalar(delta)}, {"x:0", Tensor::Scalar(0.5f)}};
}

TEST(NestedLoops, AForByItself) {
  for (const auto& [n, delta] : {std::pair(0, 1), {4, 1}, {5, 2}, {-9, -2}, {0, 0}})
    ExpectAgreement(kFor, ForFeeds(n, delta), {"loop:0", "loop:1"});
  ExpectAgreement(kFor, ForFeeds(9, 1), {"loop:1"});  // divides by zero
  ExpectAgreement(kFor, ForFeeds(9, -1), {"loop:1"});
  ExpectAgreement(kFor, ForFeeds(9, 0), {"loop:1"});
}

TEST(NestedLoops, ErrorsNameTheIterationOfEachLoop) {
  const std::string fails = absl::StrReplaceAll(
      kInnerWhile, {{"%c = AddV2(%k, %one) : int32",
                     "%two = Const() value=int32{2} : int32\n  %d = Sub(%two, %j) : int32\n"
                     "  %q = FloorDiv(%one, %d) : int32\n  %c = AddV2(%k, %q) : int32"}});
  ExpectAgreement(Nest(kCallsInnerWhile, fails), LoopFeeds(9, 0.3f), {"loop:3"});
  SessionOptions native;
  native.engine = EngineKind::kCompiled;
  for (const SessionOptions& options : {SessionOptions(), native}) {
    const absl::Status status =
        RunStatus(*SessionFor(Nest(kCallsInnerWhile, fails), options), LoopFeeds(9, 1), "loop:3");
    EXPECT_TRUE(
        absl::EndsWith(status.message(),
                       "\n  at node q (FloorDiv)\n  in iteration 2 of the body (function "
                       "inner_step) of While node w\n  in iteration 3 of the body (function "
                       "step) of While node loop"))
        << status;
  }
}

// Two iterations, each with an inner loop that takes long enough to pause several times.
TEST(NestedLoops, PauseWithinAnInnerLoopAndGoOnThere) {
  const std::string long_inner =
      ForWithin("Const() value=int32{0}", "Const() value=int32{4000000}", "Identity(%one)");
  SessionOptions native;
  native.engine = EngineKind::kCompiled;
  uint32_t sum = 0;  // of two loops, modulo 2^32
  for (uint32_t i = 0; i < 4'000'000; ++i) sum += 2 * i;
  for (const SessionOptions& options : {SessionOptions(), native}) {
    EXPECT_EQ(static_cast<uint32_t>(
                  RunScalar<int32_t>(*SessionFor(long_inner, options), LoopFeeds(2, 1), "loop:3")),
              sum);
  }
}

TEST(NestedLoops, EndAtTheirDeadlineWithinAnInnerLoop) {
  const std::string endless =
      absl::StrReplaceAll(kInnerWhile, {{"%h = AddV2(%j, %one)", "%h = Mul(%j, %one)"},
                                        {"TensorListPushBack(%l, %y)", "Identity(%l)"}});
  SessionOptions native;
  native.engine = EngineKind::kCompiled;
  for (const SessionOptions& options : {SessionOptions(), native}) {
    RunOptions run;
    run.timeout_ms = 1000;  // compiling counts, too
    const absl::Status status = RunStatus(*SessionFor(Nest(kCallsInnerWhile, endless), options),
                                          LoopFeeds(3, 1), "loop:3", run);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "of While node w")) << status;
  }
}

}  // namespace
}  // namespace gyre::testing
