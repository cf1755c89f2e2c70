// Loops on registers whose ops draw random numbers, check, and print: as with tokens, with and
// without native code.
#include <mutex>

#include "absl/strings/str_cat.h"
#include "exec/register_loop.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

constexpr char kDraw[] =
    "Const() value=int32[0]{} : int32\n"
    "%r = RandomUniform(%s) dtype=float32 seed=7 seed2=3 : float32\n";

TEST(NativeEffects, RandomNumbersAreThoseOfTokens) {
  const std::string text = LoopText(absl::StrCat("%s = ", kDraw, "%y = AddV2(%x, %r) : float32\n",
                                                 "%m = TensorListPushBack(%l, %r) : variant"));
  for (const int n : {1, 2, 300}) ExpectAgreement(text, LoopFeeds(n, 1), {"loop:2", "items:0"});
}

// In a branch, a call, and a loop within the loop: other numbers everywhere.
TEST(NativeEffects, RandomNumbersOfInnerFunctions) {
  const std::string text = LoopText(
      "%two = Const() value=int32{2} : int32\n%o = FloorMod(%i, %two) : int32\n"
      "%p = Equal(%o, %one) : bool\n%b = If(%p) then_branch=@draw else_branch=@other : float32\n"
      "%c = PartitionedCall() f=@draw : float32\n"
      "%zero = Const() value=int32{0} : int32\n"
      "%w = While(%zero, %i, %x, %l) cond=@more body=@push : (int32, int32, float32, variant)\n"
      "%a = Sub(%b, %c) : float32\n%y = AddV2(%a, %w:2) : float32\n"
      "%m = TensorListPushBack(%w:3, %a) : variant",
      absl::StrCat(R"(
func @draw() -> (r: float32) {
  %s = )",
                   kDraw, R"(
  return %r
}
func @other() -> (r: float32) {
  %s = )",
                   kDraw, R"(
  return %r
}
func @push(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %c = PartitionedCall() f=@draw : float32
  %s = )",
                   kDraw, R"(
  %m = TensorListPushBack(%l, %r) : variant
  %y = Mul(%r, %c) : float32
  return %j, %n, %y, %m
}
)"));
  for (const int n : {1, 2, 9}) ExpectAgreement(text, LoopFeeds(n, 1), {"loop:2", "items:0"});
}

TEST(NativeEffects, ChecksFailAsTokensDo) {
  const std::string text = LoopText(
      "%five = Const() value=int32{5} : int32\n%p = Less(%i, %five) : bool\n"
      "%check = Assert(%p, %x) T=[float32]\n%h = AddV2(%x, %x, ^%check) : float32\n"
      "%y = CheckNumerics(%h) message=\"of x\" : float32\n%m = TensorListPushBack(%l, %y) : "
      "variant");
  ExpectAgreement(text, LoopFeeds(5, 0.5f), {"loop:2"});
  ExpectAgreement(text, LoopFeeds(9, 0.5f), {"loop:2"});
  ExpectAgreement(text, LoopFeeds(9, 1e38f), {"loop:2"});
}

TEST(NativeEffects, LinesArePrintedInTheirOrder) {
  const std::string text = LoopText(
      "%t = AsString(%i) : string\n%print = PrintV2(%t) end=\";\"\n%y = Neg(%x) : float32\n"
      "%m = TensorListPushBack(%l, %y) : variant");
  ASSERT_TRUE(RunsOnRegisters(text));
  for (const EngineKind engine :
       {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
    std::mutex mutex;
    std::string printed;
    SessionOptions options{.engine = engine};
    options.print = [&](absl::string_view, absl::string_view line) {
      const std::lock_guard lock(mutex);
      absl::StrAppend(&printed, line);
    };
    EXPECT_TRUE(SessionFor(text, options)->Run(LoopFeeds(5, 1), {"loop:2"}).ok());
    EXPECT_EQ(printed, "0;1;2;3;4;");
  }
}

}  // namespace
}  // namespace gyre::testing
