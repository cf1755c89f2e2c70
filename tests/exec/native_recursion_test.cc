// Recursive functions on registers, and as native code: the same values, errors and limits as by
// tokens.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "exec/sequential/native.h"
#include "support/compile_setting.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// `loop` is f(n, x); FUNCTIONS say what that is.
std::string CallText(const std::string& functions) {
  return absl::StrCat(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %loop = PartitionedCall(%n, %x) f=@f : float32
}
)",
                      functions);
}

// f(n, x) is what ELSE makes of n > 0, m = n - 1 and x, and BASE of n <= 0.
std::string Recursive(const std::string& otherwise, const std::string& more = "",
                      const std::string& base = "%y = Identity(%x) : float32") {
  return CallText(absl::StrReplaceAll(R"(
func @f(%n: int32, %x: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %p = LessEqual(%n, %zero) : bool
  %y = If(%p, %n, %x) then_branch=@base else_branch=@more : float32
  return %y
}
func @base(%n: int32, %x: float32) -> (y: float32) {
  BASE
  return %y
}
func @more(%n: int32, %x: float32) -> (y: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  ELSE
  return %y
}
)",
                                      {{"ELSE", otherwise}, {"BASE", base}}) +
                  more);
}

constexpr char kTwice[] = R"(
  %a = PartitionedCall(%m, %x) f=@f : float32
  %b = Sin(%a) : float32
  %k = Sub(%m, %one) : int32
  %c = PartitionedCall(%k, %b) f=@f : float32
  %y = AddV2(%a, %c) : float32)";

TEST(NativeRecursion, GivesWhatTokensGive) {
  for (const int n : {0, 1, 2, 9})
    ExpectAgreement(Recursive(kTwice), LoopFeeds(n, 0.7f), {"loop:0"});
}

TEST(NativeRecursion, OfArgumentsWhoseShapesNobodySays) {
  const std::string text = absl::StrReplaceAll(Recursive(kTwice), {{" shape=()", ""}});
  const auto interpreted = SessionFor(Recursive(kTwice), {.compile = CompileMode::kNever});
  const float want = RunScalar<float>(*interpreted, LoopFeeds(9, 0.7f), "loop:0");
  const int64_t before = NumCompiledLoops();
  const auto session = SessionFor(text, {.compile = CompileMode::kAlways});
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(9, 0.7f), "loop:0"), want);
  EXPECT_EQ(NumCompiledLoops() - before, 1);
}

TEST(NativeRecursion, ChangesOverAfterAnyNumberOfKernels) {
  const std::string text = Recursive(kTwice);
  const float want = RunScalar<float>(*SessionFor(text), LoopFeeds(9, 0.7f), "loop:0");
  for (const int kernels : {1, 2, 3, 5, 10, 50, 200}) {
    const CompileSetting after(absl::StrCat("after:", kernels));
    EXPECT_EQ(RunScalar<float>(*SessionFor(text), LoopFeeds(9, 0.7f), "loop:0"), want) << kernels;
  }
}

TEST(NativeRecursion, GoesThroughSeveralFunctions) {
  const std::string text = Recursive("%y = PartitionedCall(%m, %x) f=@g : float32", R"(
func @g(%n: int32, %x: float32) -> (y: float32) {
  %s = Sin(%x) : float32
  %a = PartitionedCall(%n, %s) f=@f : float32
  %y = Sub(%a, %x) : float32
  return %y
}
)");
  for (const int n : {0, 1, 2, 7}) ExpectAgreement(text, LoopFeeds(n, 0.7f), {"loop:0"});
}

TEST(NativeRecursion, ExchangesItsArguments) {
  const std::string text = CallText(R"(
func @f(%n: int32, %x: float32) -> (y: float32) {
  %two = Const() value=float32{2} : float32
  %v = Const() value=float32[3]{1, 2, 4} : float32
  %w = Mul(%v, %x) : float32
  %r = PartitionedCall(%n, %x, %two, %v, %w) f=@g : float32
  %s = PartitionedCall(%n, %x, %two) f=@pair : (float32, float32)
  %d = Sub(%s:0, %s:1) : float32
  %y = AddV2(%r, %d) : float32
  return %y
}
func @g(%n: int32, %a: float32, %b: float32, %v: float32, %w: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %p = LessEqual(%n, %zero) : bool
  %y = If(%p, %n, %a, %b, %v, %w) then_branch=@base else_branch=@more : float32
  return %y
}
func @base(%n: int32, %a: float32, %b: float32, %v: float32, %w: float32) -> (y: float32) {
  %q = Sub(%v, %w) : float32
  %axis = Const() value=int32{0} : int32
  %s = Sum(%q, %axis) : float32
  %d = Mul(%a, %s) : float32
  %y = Sub(%d, %b) : float32
  return %y
}
func @more(%n: int32, %a: float32, %b: float32, %v: float32, %w: float32) -> (y: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %t = Sin(%w) : float32
  %z = PartitionedCall(%m, %b, %a, %t, %v) f=@g : float32
  %axis = Const() value=int32{0} : int32
  %s = Sum(%t, %axis) : float32
  %y = AddV2(%z, %s) : float32
  return %y
}
func @pair(%n: int32, %a: float32, %b: float32) -> (y: float32, z: float32) {
  %zero = Const() value=int32{0} : int32
  %p = LessEqual(%n, %zero) : bool
  %i = If(%p, %n, %a, %b) then_branch=@same else_branch=@swapped : (float32, float32)
  return %i:0, %i:1
}
func @same(%n: int32, %a: float32, %b: float32) -> (y: float32, z: float32) {
  return %a, %b
}
func @swapped(%n: int32, %a: float32, %b: float32) -> (y: float32, z: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %c = AddV2(%a, %b) : float32
  %r = PartitionedCall(%m, %b, %c) f=@pair : (float32, float32)
  return %r:1, %r:0
}
)");
  const std::string in_a_loop = absl::StrReplaceAll(
      LoopText("%y = PartitionedCall(%i, %x) f=@f : float32\n%m = Identity(%l) : variant",
               text.substr(text.find("func @f")), "()"),
      {{"func @more(%i", "func @goes_on(%i"}, {"cond=@more", "cond=@goes_on"}});
  for (const int n : {0, 1, 2, 5}) ExpectAgreement(in_a_loop, LoopFeeds(n, 0.7f), {"loop:2"});
}

// Depth first over a tree of `n` levels whose nodes have three children: a loop of calls within the
// function that they call.
constexpr char kTree[] = R"(
  %start = Const() value=int32{0} : int32
  %limit = Const() value=int32{3} : int32
  %t = Sin(%x) : float32
  %w = While(%start, %limit, %m, %t) cond=@goes_on body=@child : (int32, int32, int32, float32)
  %y = Sub(%w:3, %x) : float32)";
constexpr char kChild[] = R"(
func @goes_on(%i: int32, %k: int32, %m: int32, %t: float32) -> (p: bool) {
  %p = Less(%i, %k) : bool
  return %p
}
func @child(%i: int32, %k: int32, %m: int32, %t: float32) -> (j: int32, k: int32, m: int32, u: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %c = Cast(%i) SrcT=int32 DstT=float32 : float32
  %s = AddV2(%t, %c) : float32
  %r = PartitionedCall(%m, %s) f=@f : float32
  %u = CheckNumerics(%r) message="of a child" : float32
  return %j, %k, %m, %u
}
)";

TEST(NativeRecursion, ComesBackIntoTheIterationThatCalledIt) {
  const std::string text = Recursive(kTree, kChild);
  for (const int n : {0, 1, 2, 4}) ExpectAgreement(text, LoopFeeds(n, 0.7f), {"loop:0"});
  // log(x) of the last child of the first child of the second is what fails.
  const std::string fails = Recursive(kTree, kChild, "%y = Log(%x) : float32");
  ExpectAgreement(fails, LoopFeeds(3, -1.5f), {"loop:0"});
}

TEST(NativeRecursion, SaysWhereItsErrorsHappened) {
  for (const int n : {0, 1, 2, 3, 4, 5, 30}) {
    ExpectAgreement(Recursive("%y = PartitionedCall(%m, %x) f=@f : float32", "",
                              "%y = CheckNumerics(%x) message=\"of x\" : float32"),
                    LoopFeeds(n, INFINITY), {"loop:0"});
  }
}

TEST(NativeRecursion, HandsListsOn) {
  const std::string text = LoopText(R"(
  %two = PartitionedCall(%i, %x, %l) f=@fill : (float32, variant)
  %y = Sin(%two:0) : float32
  %m = Identity(%two:1) : variant)",
                                    R"(
func @fill(%n: int32, %x: float32, %l: variant) -> (y: float32, m: variant) {
  %zero = Const() value=int32{0} : int32
  %p = LessEqual(%n, %zero) : bool
  %i = If(%p, %n, %x, %l) then_branch=@stay else_branch=@push : (float32, variant)
  return %i:0, %i:1
}
func @stay(%n: int32, %x: float32, %l: variant) -> (y: float32, m: variant) {
  return %x, %l
}
func @push(%n: int32, %x: float32, %l: variant) -> (y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %k = Sub(%n, %one) : int32
  %a = TensorListPushBack(%l, %x) : variant
  %s = Sin(%x) : float32
  %r = PartitionedCall(%k, %s, %a) f=@fill : (float32, variant)
  %q = AddV2(%r:0, %x) : float32
  %b = TensorListPushBack(%r:1, %q) : variant
  return %q, %b
}
)");
  for (const int n : {0, 1, 2, 6})
    ExpectAgreement(text, LoopFeeds(n, 0.7f), {"items:0", "length:0"});
}

TEST(NativeRecursion, IsAsDeepAsMemoryAllows) {
  const std::string text = Recursive(R"(
  %a = PartitionedCall(%m, %x) f=@f : float32
  %y = AddV2(%a, %x) : float32)");
  for (const char* const when : {"never", "always", "after:100"}) {
    const CompileSetting setting(when);
    const std::unique_ptr<Session> session = SessionFor(text);
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(1'000'000, 1), "loop:0"), 1'000'001) << when;
    RunOptions options;
    options.budget_bytes = 1 << 20;
    const absl::Status status = RunStatus(*session, LoopFeeds(INT32_MAX, 1), "loop:0", options);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << when;
    EXPECT_TRUE(absl::StrContains(status.message(), "is a recursion or a loop without end?"))
        << status;
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 1), "loop:0", options), 4) << when;
  }
}

TEST(NativeRecursion, StopsWhenTimeIsUp) {
  for (const char* const when : {"never", "always"}) {
    const CompileSetting setting(when);
    const std::unique_ptr<Session> session = SessionFor(Recursive(kTwice));
    RunOptions options;
    options.timeout_ms = 100;
    EXPECT_EQ(RunStatus(*session, LoopFeeds(60, 1), "loop:0", options).code(),
              absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(0, 1), "loop:0"), 1);
  }
}

// What asks which call it is in stays with tokens.
TEST(NativeRecursion, DrawsTheNumbersOfItsCalls) {
  const std::string text = Recursive(R"(
  %none = Const() value=int32[0]{} : int32
  %r = RandomUniform(%none) dtype=float32 seed=3 seed2=4 : float32
  %s = AddV2(%x, %r) : float32
  %y = StatefulPartitionedCall(%m, %s) f=@f : float32)");
  EXPECT_FALSE(RunsOnRegisters(text));
  SessionOptions native;
  native.engine = EngineKind::kCompiled;
  EXPECT_EQ(RunScalar<float>(*SessionFor(text), LoopFeeds(5, 1), "loop:0"),
            RunScalar<float>(*SessionFor(text, native), LoopFeeds(5, 1), "loop:0"));
}

}  // namespace
}  // namespace gyre::testing
