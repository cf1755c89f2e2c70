// Frames as While.
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "passes/raise/text.h"

namespace gyre::testing {
namespace {

// The constant Enter is an argument that the body hands on as it is.
TEST(RaiseLoops, AFrameIsAWhile) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %zero = Const() value=int32{0}
      %start = Placeholder() dtype=float32
      %enter = Enter(%zero) frame_name="loop" : int32
      %enter_x = Enter(%start) frame_name="loop" : float32
      %limit = Enter(%n) frame_name="loop" is_constant=true : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %x = Merge(%enter_x, %next_x) : (float32, int32)
      %less = Less(%i, %limit) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %switch_x = Switch(%x, %cond) : (float32, float32)
      %pivot = Identity(%switch:1) : int32
      %one = Const(^%pivot) value=int32{1} : int32
      %add = AddV2(%pivot, %one) : int32
      %square = Square(%switch_x:1) : float32
      %next = NextIteration(%add) : int32
      %next_x = NextIteration(%square) : float32
      %exit = Exit(%switch_x) : float32
    })",
                       {{}, {"exit:0"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %zero = Const() value=int32{0} : int32
  %start = Placeholder() : float32
  %loop = StatelessWhile(%zero, %start, %n) body=@loop/body cond=@loop/cond : (int32, float32, int32)
}

func @loop/body(%i: int32, %x: float32, %n: int32) -> (i: int32, x: float32, n: int32) {
  %pivot = Identity(%i) : int32
  %one = Const() value=int32{1} : int32
  %add = AddV2(%pivot, %one) : int32
  %square = Square(%x) : float32
  return %add, %square, %n
}

func @loop/cond(%i: int32, %x: float32, %n: int32) -> (goes_on: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
)");
}

// A LoopCond takes nothing but a scalar; a While would go on for ever while there are elements.
TEST(RaiseLoops, AConditionOfUnknownShapeMustBeAScalar) {
  const std::string raised = RaisedText(R"(
    graph {
      %go = Placeholder() dtype=bool
      %start = Placeholder() dtype=bool shape=()
      %enter = Enter(%start) frame_name="loop" : bool
      %goes = Enter(%go) frame_name="loop" is_constant=true : bool
      %x = Merge(%enter, %next) : (bool, int32)
      %cond = LoopCond(%goes) : bool
      %switch = Switch(%x, %cond) : (bool, bool)
      %not = LogicalNot(%switch:1) : bool
      %next = NextIteration(%not) : bool
      %exit = Exit(%switch) : bool
    })",
                                        {{}, {"exit:0"}});
  EXPECT_TRUE(absl::StrContains(raised, "EnsureShape(%go) shape=() : bool\n  return %")) << raised;
}

TEST(RaiseLoops, Nest) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %zero = Const() value=int32{0}
      %enter = Enter(%zero) frame_name="outer" : int32
      %limit = Enter(%n) frame_name="outer" is_constant=true : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %less = Less(%i, %limit) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %inner_enter = Enter(%switch:1) frame_name="inner" : int32
      %inner_limit = Enter(%limit) frame_name="inner" is_constant=true : int32
      %j = Merge(%inner_enter, %inner_next) : (int32, int32)
      %inner_less = Less(%j, %inner_limit) : bool
      %inner_cond = LoopCond(%inner_less) : bool
      %inner_switch = Switch(%j, %inner_cond) : (int32, int32)
      %two = Const(^%inner_switch) value=int32{2} : int32
      %inner_add = AddV2(%inner_switch:1, %two) : int32
      %inner_next = NextIteration(%inner_add) : int32
      %inner_exit = Exit(%inner_switch) : int32
      %next = NextIteration(%inner_exit) : int32
      %exit = Exit(%switch) : int32
    })",
                       {{}, {"exit:0"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %zero = Const() value=int32{0} : int32
  %outer = StatelessWhile(%zero, %n) body=@outer/body cond=@outer/cond : (int32, int32)
}

func @inner/body(%j: int32, %limit: int32) -> (j: int32, limit: int32) {
  %two = Const() value=int32{2} : int32
  %inner_add = AddV2(%j, %two) : int32
  return %inner_add, %limit
}

func @inner/cond(%j: int32, %limit: int32) -> (goes_on: bool) {
  %inner_less = Less(%j, %limit) : bool
  return %inner_less
}

func @outer/body(%i: int32, %n: int32) -> (i: int32, n: int32) {
  %inner = StatelessWhile(%i, %n) body=@inner/body cond=@inner/cond : (int32, int32)
  return %inner, %n
}

func @outer/cond(%i: int32, %n: int32) -> (goes_on: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
)");
}

// The Switch inside goes by a predicate that the way in has decided: it is gone.
TEST(RaiseLoops, RunInABranch) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32 shape=()
      %s = Switch(%x, %p)
      %zero = Const(^%s) value=float32{0}
      %enter = Enter(%s:1) frame_name="loop" : float32
      %end = Enter(%zero) frame_name="loop" is_constant=true : float32
      %v = Merge(%enter, %next) : (float32, int32)
      %more = Greater(%v, %end) : bool
      %cond = LoopCond(%more) : bool
      %switch = Switch(%v, %cond) : (float32, float32)
      %half = Sqrt(%switch:1) : float32
      %t = Switch(%half, %p_in) : (float32, float32)
      %p_in = Enter(%p) frame_name="loop" is_constant=true : bool
      %next = NextIteration(%t:1) : float32
      %exit = Exit(%switch) : float32
      %y = Merge(%s, %exit)
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() shape=() : float32
  %zero = Const() value=float32{0} : float32
  %y = StatelessIf(%p, %x, %zero) else_branch=@y/else then_branch=@y/then : float32
}

func @loop/body(%v: float32, %zero: float32) -> (v: float32, zero: float32) {
  %half = Sqrt(%v) : float32
  return %half, %zero
}

func @loop/cond(%v: float32, %zero: float32) -> (goes_on: bool) {
  %more = Greater(%v, %zero) : bool
  return %more
}

func @y/else(%x: float32, %zero: float32) -> (y: float32) {
  return %x
}

func @y/then(%x: float32, %zero: float32) -> (y: float32) {
  %loop = StatelessWhile(%x, %zero) body=@loop/body cond=@loop/cond : (float32, float32)
  return %loop
}
)");
}

//    %twice is the condition's; the body and the exit read it, so each makes it again.
//    %neg runs where the loop does not go on: after it. What is let out unchanged is what came in.
TEST(RaiseLoops, WhatComesAfterTheEndComesAfterTheLoop) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %zero = Const() value=int32{0}
      %enter = Enter(%zero) frame_name="loop" : int32
      %limit = Enter(%n) frame_name="loop" is_constant=true : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %twice = AddV2(%i, %i) : int32
      %less = Less(%twice, %limit) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %switch_twice = Switch(%twice, %cond) : (int32, int32)
      %one = Const(^%i) value=int32{1} : int32
      %add = AddV2(%switch_twice:1, %one) : int32
      %next = NextIteration(%add) : int32
      %neg = Neg(%switch_twice) : int32
      %exit = Exit(%neg) : int32
      %exit_limit_switch = Switch(%limit, %cond) : (int32, int32)
      %exit_limit = Exit(%exit_limit_switch) : int32
    })",
                       {{}, {"exit:0", "exit_limit:0"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %zero = Const() value=int32{0} : int32
  %loop = StatelessWhile(%zero, %n) body=@loop/body cond=@loop/cond : (int32, int32)
  %twice = AddV2(%loop, %loop) : int32
  %neg = Neg(%twice) : int32
}

func @loop/body(%i: int32, %n: int32) -> (i: int32, n: int32) {
  %twice = AddV2(%i, %i) : int32
  %one = Const() value=int32{1} : int32
  %add = AddV2(%twice, %one) : int32
  return %add, %n
}

func @loop/cond(%i: int32, %n: int32) -> (goes_on: bool) {
  %twice = AddV2(%i, %i) : int32
  %less = Less(%twice, %n) : bool
  return %less
}
)");
}

TEST(RaiseLoops, MayGoOnWhereThePredicateIsFalse) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %zero = Const() value=int32{0}
      %enter = Enter(%zero) frame_name="loop" : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %three = Const(^%i) value=int32{3} : int32
      %done = GreaterEqual(%i, %three) : bool
      %cond = LoopCond(%done) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %one = Const(^%switch) value=int32{1} : int32
      %add = AddV2(%switch, %one) : int32
      %next = NextIteration(%add) : int32
      %exit = Exit(%switch:1) : int32
    })",
                       {{}, {"exit:0"}}),
            R"(
graph {
  %zero = Const() value=int32{0} : int32
  %loop = StatelessWhile(%zero) body=@loop/body cond=@loop/cond : int32
}

func @loop/body(%i: int32) -> (i: int32) {
  %one = Const() value=int32{1} : int32
  %add = AddV2(%i, %one) : int32
  return %add
}

func @loop/cond(%i: int32) -> (goes_on: bool) {
  %three = Const() value=int32{3} : int32
  %done = GreaterEqual(%i, %three) : bool
  %LogicalNot = LogicalNot(%done) : bool
  return %LogicalNot
}
)");
}

// i < 7 and x < limit: at most 7 iterations, whatever x does.
TEST(RaiseLoops, KnowTheirMaximumOfIterations) {
  const std::string text = R"(
    graph {
      %zero = Const() value=int32{START}
      %x0 = Placeholder() dtype=float32 shape=()
      %enter = Enter(%zero) frame_name="loop" : int32
      %enter_x = Enter(%x0) frame_name="loop" : float32
      %i = Merge(%enter, %next) : (int32, int32)
      %x = Merge(%enter_x, %next_x) : (float32, int32)
      %seven = Const(^%i) value=int32{7} : int32
      %hundred = Const(^%i) value=float32{100} : float32
      %few = Less(%i, %seven) : bool
      %small = Less(%x, %hundred) : bool
      %both = LogicalAnd(%few, %small) : bool
      %cond = LoopCond(%both) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %switch_x = Switch(%x, %cond) : (float32, float32)
      %pivot = Identity(%switch:1) : int32
      %one = Const(^%pivot) value=int32{1} : int32
      %add = AddV2(%pivot, %one) : int32
      %square = Square(%switch_x:1) : float32
      %next = NextIteration(%add) : int32
      %next_x = NextIteration(%square) : float32
      %exit = Exit(%switch_x) : float32
    })";
  const auto raised = [&](const std::string& start) {
    return RaisedText(absl::StrReplaceAll(text, {{"START", start}}), {{}, {"exit:0"}});
  };
  EXPECT_TRUE(absl::StrContains(raised("0"), " _maximum_iterations=7 ")) << raised("0");
  EXPECT_FALSE(absl::StrContains(raised("1"), "_maximum_iterations")) << "it starts elsewhere";
}

}  // namespace
}  // namespace gyre::testing
