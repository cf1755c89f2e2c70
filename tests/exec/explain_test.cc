// What is said of how the loops of a program run.
#include "exec/sequential/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "gmock/gmock.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> Explained(const std::string& text) {
  return sequential::ExplainLoops(SessionFor(text)->program());
}

TEST(ExplainLoops, SaysWhatIsNativeAndWhatOfItIsInterpreted) {
  EXPECT_THAT(
      Explained(LoopText("%y = Sin(%x) : float32\n%m = TensorListPushBack(%l, %y) : variant")),
      ElementsAre("loop: native code once it is hot"));
  EXPECT_THAT(
      Explained(
          LoopText("%c = Cumsum(%p, %zero) : float32\n%zero = Const() value=int32{0} : int32\n"
                   "%p = Pack(%x, %x) : float32\n"
                   "%v = Cumprod(%c, %zero) : float32\n%y = Sum(%v, %zero) : float32\n%m = "
                   "Identity(%l) : variant")),
      ElementsAre("loop: native code once it is hot; interpreted in it: c (Cumsum), v (Cumprod)"));
}

TEST(ExplainLoops, NamesTheLoopsWithinOne) {
  EXPECT_THAT(Explained(LoopText("%w = StatelessWhile(%x) cond=@big body=@half : float32\n"
                                 "%y = Identity(%w) : float32\n%m = Identity(%l) : variant",
                                 R"(
func @big(%x: float32) -> (p: bool) {
  %one = Const() value=float32{1} : float32
  %p = Greater(%x, %one) : bool
  return %p
}
func @half(%x: float32) -> (y: float32) {
  %two = Const() value=float32{2} : float32
  %y = Div(%x, %two) : float32
  return %y
}
)")),
              ElementsAre("loop (and w within it): native code once it is hot"));
}

TEST(ExplainLoops, SaysWhatStandsInTheWay) {
  const auto why = [](const std::string& body, const std::string& shape = "()") {
    return Explained(LoopText(body + "\n%m = Identity(%l) : variant", "", shape));
  };
  EXPECT_THAT(
      why("%f = PyFunc(%x) token=\"f\" Tin=[float32] Tout=[]\n%y = Neg(%x) : float32"),
      ElementsAre("loop: tokens, since f (PyFunc) in @step waits, calls the host program or "
                  "has no kernel"));
  EXPECT_THAT(why("%y = Mul(%x, %x) : float32", "(64,64)"),
              ElementsAre("loop: tokens, since y (Mul) in @step handles tensors of shapes that are "
                          "not known, or of more than 256 elements (of some ops, 16)"));
  EXPECT_THAT(why("%q = FIFOQueueV2() component_types=[float32] : resource\n"
                  "%e = QueueEnqueueV2(%q, %x)\n%y = Neg(%x) : float32"),
              ElementsAre("loop: tokens, since e (QueueEnqueueV2) in @step waits, calls the host "
                          "program or has no kernel"));
}

// A loop whose body has a conditional, and one that calls the host program, whose conditional is
// native by itself; a function that nobody calls counts for nothing.
TEST(ExplainLoops, TellsOfTheFirstCallOfARecursion) {
  const auto recursion = [](const std::string& shape, const std::string& body) {
    return Explained(absl::StrReplaceAll(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Placeholder() dtype=float32 shape=SHAPE : float32
  %f = PartitionedCall(%p, %x) f=@f : float32
}
func @f(%p: bool, %x: float32) -> (y: float32) {
  %y = If(%p, %p, %x) then_branch=@same else_branch=@more : float32
  return %y
}
func @same(%p: bool, %x: float32) -> (y: float32) {
  return %x
}
func @more(%p: bool, %x: float32) -> (y: float32) {
  BODY
  %r = PartitionedCall(%p, %s) f=@f : float32
  %y = AddV2(%r, %x) : float32
  return %y
}
)",
                                         {{"SHAPE", shape}, {"BODY", body}}));
  };
  EXPECT_THAT(recursion("()", "%s = Sin(%x) : float32"),
              ElementsAre("f: native code once it is hot"));
  EXPECT_THAT(
      recursion("(64,64)", "%s = Sin(%x) : float32"),
      ElementsAre("f: tokens, since s (Sin) in @more handles tensors of shapes that are not known, "
                  "or of more than 256 elements (of some ops, 16)"));
  EXPECT_THAT(recursion("()",
                        "%d = Const() value=int32[0]{} : int32\n"
                        "%s = RandomUniform(%d) dtype=float32 : float32"),
              ElementsAre("f: tokens, since s (RandomUniform) draws random numbers in a recursive "
                          "function"));
}

TEST(CountNative, CountsLoopsAndConditionals) {
  const std::string extra = R"(
func @yes(%x: float32) -> (y: float32) {
  %y = Sin(%x) : float32
  return %y
}
func @no(%x: float32) -> (y: float32) {
  %y = Neg(%x) : float32
  return %y
}
func @unused(%x: float32) -> (y: float32) {
  %p = Const() value=bool{true} : bool
  %y = If(%p, %x) then_branch=@yes else_branch=@no : float32
  return %y
}
)";
  const auto count = [&](const std::string& body) {
    return sequential::CountNative(
        SessionFor(LoopText(body + "\n%m = Identity(%l) : variant", extra))->program());
  };
  const sequential::NativeShare native = count(
      "%p = Less(%x, %x) : bool\n"
      "%y = If(%p, %x) then_branch=@yes else_branch=@no : float32");
  EXPECT_EQ(native.loops, 1);
  EXPECT_EQ(native.native_loops, 1);
  EXPECT_EQ(native.conditionals, 1);
  EXPECT_EQ(native.native_conditionals, 1);
  EXPECT_TRUE(native.why_no_loop.empty());
  EXPECT_TRUE(native.why_no_conditional.empty());
  sequential::NativeShare all = count(
      "%p = Less(%x, %x) : bool\n"
      "%z = If(%p, %x) then_branch=@yes else_branch=@no : float32\n"
      "%f = PyFunc(%z) token=\"f\" Tin=[float32] Tout=[]\n%y = Neg(%z) : float32");
  EXPECT_EQ(all.native_loops, 0);
  EXPECT_EQ(all.native_conditionals, 1);  // by itself
  all.Add(native);
  EXPECT_EQ(all.loops, 2);
  EXPECT_EQ(all.native_conditionals, 2);
  EXPECT_THAT(all.why_no_loop,
              ElementsAre(Pair("PyFunc waits, calls the host program or has no kernel", 1)));
}

}  // namespace
}  // namespace gyre::testing
