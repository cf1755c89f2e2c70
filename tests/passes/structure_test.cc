// Passes that change calls, branches and loops: resolve, inline, pass-through, trim.
#include "passes/inline.h"
#include "passes/pass_through.h"
#include "passes/resolve.h"
#include "passes/text.h"
#include "passes/trim.h"

namespace gyre::testing {
namespace {

constexpr char kLoopFunctions[] = R"(
    func @below(%i: int32, %x: float32) -> (p: bool) {
      %limit = Const() value=int32{1}
      %p = Less(%i, %limit)
      return %p
    }
    func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
      %one = Const() value=int32{1}
      %i_1 = AddV2(%i, %one)
      %x_1 = Neg(%x)
      return %i_1, %x_1
    })";

TEST(Resolve, ConstantConditions) {
  EXPECT_EQ(After(ResolvePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %yes = Const() value=string{"not empty"}
      %five = Const() value=int32{5}
      %if = StatelessIf(%yes, %x) then_branch=@neg else_branch=@exp : float32
      %case = Case(%five, %if) branches=[@neg, @say] : float32
    }
    func @neg(%x: float32) -> (y: float32) {
      %y = Neg(%x)
      return %y
    }
    func @exp(%x: float32) -> (y: float32) {
      %y = Exp(%x)
      return %y
    }
    func @say(%x: float32) -> (y: float32) {
      %word = Const() value=string{"said"}
      %print = PrintV2(%word)
      return %x
    })",
                  {{"x"}, {"case"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %yes = Const() value=string{"not empty"} : string
  %five = Const() value=int32{5} : int32
  %if = PartitionedCall(%x) f=@neg : float32
  %case = StatefulPartitionedCall(%if) f=@say : float32
}

func @exp(%x: float32) -> (y: float32) {
  %y = Exp(%x) : float32
  return %y
}

func @neg(%x: float32) -> (y: float32) {
  %y = Neg(%x) : float32
  return %y
}

func @say(%x: float32) -> (y: float32) {
  %word = Const() value=string{"said"} : string
  %print = PrintV2(%word)
  return %x
}
)");
}

std::string LoopFrom(int start) {
  return absl::StrCat(R"(
    graph {
      %x = Placeholder() dtype=float32
      %start = Const() value=int32{)",
                      start, R"(}
      %loop = While(%start, %x) cond=@below body=@step : (int32, float32)
      %y = Exp(%loop:1)
    })",
                      kLoopFunctions);
}

TEST(Resolve, ALoopOfNoTrip) {
  EXPECT_EQ(After(ResolvePass, LoopFrom(1), {{"x"}, {"y", "loop:0"}}), R"(
graph {
  %x = Placeholder() : float32
  %start = Const() value=int32{1} : int32
  %y = Exp(%x) : float32
}

func @below(%i: int32, %x: float32) -> (p: bool) {
  %limit = Const() value=int32{1} : int32
  %p = Less(%i, %limit) : bool
  return %p
}

func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %i_1 = AddV2(%i, %one) : int32
  %x_1 = Neg(%x) : float32
  return %i_1, %x_1
}
)");
}

TEST(Resolve, ALoopOfOneTrip) {
  EXPECT_EQ(After(ResolvePass, LoopFrom(0), {{"x"}, {"y", "loop:0"}}), R"(
graph {
  %x = Placeholder() : float32
  %start = Const() value=int32{0} : int32
  %loop = PartitionedCall(%start, %x) f=@step : (int32, float32)
  %y = Exp(%loop:1) : float32
}

func @below(%i: int32, %x: float32) -> (p: bool) {
  %limit = Const() value=int32{1} : int32
  %p = Less(%i, %limit) : bool
  return %p
}

func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %i_1 = AddV2(%i, %one) : int32
  %x_1 = Neg(%x) : float32
  return %i_1, %x_1
}
)");
}

TEST(Resolve, NotALoopOfTwoTripsNorOneWhoseStartIsFed) {
  EXPECT_EQ(After(ResolvePass, LoopFrom(-1), {{"x"}, {"y"}}), "unchanged");
  EXPECT_EQ(After(ResolvePass, LoopFrom(1), {{"x", "start"}, {"y"}}), "unchanged");
}

TEST(Resolve, BoundsOfAFor) {
  EXPECT_EQ(After(ResolvePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %zero = Const() value=int32{0}
      %two = Const() value=int32{2}
      %three = Const() value=int32{3}
      %none = For(%two, %two, %zero, %x) body=@add : float32
      %once = For(%zero, %two, %three, %none) body=@add : float32
      %wrong = For(%zero, %two, %zero, %once) body=@add : float32
    }
    func @add(%i: int32, %x: float32) -> (x: float32) {
      %f = Cast(%i) DstT=float32
      %y = AddV2(%x, %f)
      return %y
    })",
                  {{"x"}, {"wrong"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %zero = Const() value=int32{0} : int32
  %two = Const() value=int32{2} : int32
  %three = Const() value=int32{3} : int32
  %once = PartitionedCall(%zero, %x) f=@add : float32
  %wrong = For(%zero, %two, %zero, %once) body=@add : float32
}

func @add(%i: int32, %x: float32) -> (x: float32) {
  %f = Cast(%i) : float32
  %y = AddV2(%x, %f) : float32
  return %y
}
)");
}

TEST(Inline, PureCalls) {
  EXPECT_EQ(After(InlinePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %call = PartitionedCall(%x, %x) f=@f : (float32, float32)
      %y = Exp(%call)
      %after = NoOp(^%call)
    }
    func @f(%a: float32, %b: float32) -> (y: float32, b: float32) {
      %half = Const() value=float32{0.5}
      %y = Mul(%a, %half)
      return %y, %b
    })",
                  {{"x"}, {"y", "call:1"}, {"after"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %call/half = Const() value=float32{0.5} : float32
  %call/y = Mul(%x, %call/half) : float32
  %y = Exp(%call/y) : float32
  %after = NoOp(^%call/y)
}
)");
}

TEST(Inline, WhatHoldsUpACallHoldsUpItsBody) {
  EXPECT_EQ(After(InlinePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %p = Placeholder() dtype=bool
      %check = Assert(%p, %x)
      %call = PartitionedCall(%x, ^%check) f=@f : (float32, float32)
      %y = Mul(%call, %call:1)
    }
    func @f(%a: float32) -> (y: float32, a: float32) {
      %y = Exp(%a)
      return %y, %a
    })",
                  {{"x", "p"}, {"y"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %p = Placeholder() : bool
  %check = Assert(%p, %x)
  %call/y = Exp(%x, ^%check) : float32
  %call/a = Identity(%x, ^%check) : float32
  %y = Mul(%call/y, %call/a) : float32
}
)");
}

TEST(Inline, EffectsHaveABeginningAndAnEnd) {
  EXPECT_EQ(After(InlinePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %old = ReadVariableOp(%v) dtype=float32
      %call = StatefulPartitionedCall(%v, %x, %old) f=@update : float32
      %y = Exp(%call)
      %new = ReadVariableOp(%v, ^%call) dtype=float32
    }
    func @update(%v: resource, %x: float32, %unused: float32) -> (y: float32) {
      %word = Const() value=string{"updated"}
      %y = Neg(%x)
      %write = AssignVariableOp(%v, %y)
      %print = PrintV2(%word, ^%write)
      return %y
    })",
                  {{"x"}, {"y", "new", "old"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %old = ReadVariableOp(%v) : float32
  %call/entry = NoOp(^%x, ^%v, ^%old)
  %call/word = Const() value=string{"updated"} : string
  %call/y = Neg(%x) : float32
  %call/write = AssignVariableOp(%v, %call/y, ^%call/entry)
  %call/print = PrintV2(%call/word, ^%call/write)
  %call/exit = NoOp(^%call/write, ^%call/print)
  %call/y_1 = Identity(%call/y, ^%call/exit) : float32
  %call = NoOp(^%call/exit, ^%call/y_1)
  %y = Exp(%call/y_1) : float32
  %new = ReadVariableOp(%v, ^%call) : float32
}
)");
}

TEST(Inline, ByTheNameOfAFunction) {
  EXPECT_EQ(After(InlinePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %call = twice(%x) : float32
      %y = Exp(%call)
    }
    func @twice(%x: float32) -> (y: float32) {
      %y = AddV2(%x, %x)
      return %y
    })",
                  {{"x"}, {"y"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %call/y = AddV2(%x, %x) : float32
  %y = Exp(%call/y) : float32
}
)");
}

TEST(Inline, NotWhatIsMarkedRecursiveOrHangsOnItsName) {
  EXPECT_EQ(After(InlinePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %a = PartitionedCall(%x) f=@f _noinline=true : float32
      %b = PartitionedCall(%x) f=@marked : float32
      %c = PartitionedCall(%x) f=@around : float32
      %d = StatefulPartitionedCall(%x) f=@draw : float32
      %e = StatefulPartitionedCall(%x) f=@unnamed : float32
    }
    func @f(%x: float32) -> (y: float32) {
      %y = Neg(%x)
      return %y
    }
    func @marked(%x: float32) -> (y: float32) {
      attr _noinline=true
      %y = Neg(%x)
      return %y
    }
    func @around(%x: float32) -> (y: float32) {
      %zero = Const() value=float32{0}
      %more = Greater(%x, %zero)
      %y = StatelessIf(%more, %x) then_branch=@again else_branch=@f : float32
      return %y
    }
    func @again(%x: float32) -> (y: float32) {
      %y = PartitionedCall(%x) f=@around : float32
      return %y
    }
    func @draw(%x: float32) -> (y: float32) {
      %shape = Shape(%x)
      %y = RandomUniform(%shape) dtype=float32
      return %y
    }
    func @unnamed(%x: float32) -> (y: float32) {
      %v = VarHandleOp() dtype=float32 shape=()
      %y = ReadVariableOp(%v) dtype=float32
      return %y
    })",
                  {{"x"}, {"a", "b", "c", "d", "e"}}),
            "unchanged");
}

TEST(PassThrough, ReadersOfWhatIsHandedOn) {
  EXPECT_EQ(After(PassThroughPass, R"(
    graph {
      %n = Placeholder() dtype=int32
      %x = Placeholder() dtype=float32
      %loop = While(%n, %x) cond=@more body=@count : (int32, float32)
      %y = Exp(%loop:1)
      %said = PartitionedCall(%x) f=@say : float32
      %z = Exp(%said)
    }
    func @more(%n: int32, %x: float32) -> (p: bool) {
      %zero = Const() value=int32{0}
      %p = Greater(%n, %zero)
      return %p
    }
    func @count(%n: int32, %x: float32) -> (n: int32, x: float32) {
      %one = Const() value=int32{1}
      %n_1 = Sub(%n, %one)
      return %n_1, %x
    }
    func @say(%x: float32) -> (x: float32) {
      %word = Const() value=string{"said"}
      %print = PrintV2(%word)
      return %x
    })",
                  {{"n", "x"}, {"y", "z", "loop:0"}}),
            R"(
graph {
  %n = Placeholder() : int32
  %x = Placeholder() : float32
  %loop = While(%n, %x) body=@count cond=@more : (int32, float32)
  %y = Exp(%x) : float32
  %said = PartitionedCall(%x) f=@say : float32
  %z = Exp(%said) : float32
}

func @count(%n: int32, %x: float32) -> (n: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %n_1 = Sub(%n, %one) : int32
  return %n_1, %x
}

func @more(%n: int32, %x: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%n, %zero) : bool
  return %p
}

func @say(%x: float32) -> (x: float32) {
  %word = Const() value=string{"said"} : string
  %print = PrintV2(%word)
  return %x
}
)");
}

TEST(Trim, ACounterThatOnlyCounts) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %zero = Const() value=int32{0}
      %n = Placeholder() dtype=int32
      %x = Placeholder() dtype=float32
      %loop = StatelessWhile(%zero, %n, %x) cond=@more body=@step : (int32, int32, float32)
      %y = Exp(%loop:2)
    }
    func @more(%count: int32, %n: int32, %x: float32) -> (p: bool) {
      %zero = Const() value=int32{0}
      %p = Greater(%n, %zero)
      return %p
    }
    func @step(%count: int32, %n: int32, %x: float32) -> (c: int32, n: int32, x: float32) {
      %one = Const() value=int32{1}
      %c = AddV2(%count, %one)
      %m = Sub(%n, %one)
      %y = Neg(%x)
      return %c, %m, %y
    })",
                  {{"n", "x"}, {"y"}}),
            R"(
graph {
  %n = Placeholder() : int32
  %x = Placeholder() : float32
  %loop = StatelessWhile(%n, %x) body=@step cond=@more : (int32, float32)
  %y = Exp(%loop:1) : float32
}

func @more(%n: int32, %x: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%n, %zero) : bool
  return %p
}

func @step(%n: int32, %x: float32) -> (n: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %y = Neg(%x) : float32
  return %m, %y
}
)");
}

TEST(Trim, ArgumentsAndResultsOfBranches) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=float32
      %y = Placeholder() dtype=float32
      %z = Placeholder() dtype=float32
      %if = StatelessIf(%p, %x, %y, %z) then_branch=@f else_branch=@g : (float32, float32)
    }
    func @f(%x: float32, %y: float32, %z: float32) -> (a: float32, b: float32) {
      %a = Neg(%x)
      %b = Neg(%z)
      return %a, %b
    }
    func @g(%x: float32, %y: float32, %z: float32) -> (a: float32, b: float32) {
      return %y, %z
    })",
                  {{"p", "x", "y", "z"}, {"if:0"}}),
            R"(
graph {
  %p = Placeholder() : bool
  %x = Placeholder() : float32
  %y = Placeholder() : float32
  %z = Placeholder() : float32
  %if = StatelessIf(%p, %x, %y) else_branch=@g then_branch=@f : float32
}

func @f(%x: float32, %y: float32) -> (a: float32) {
  %a = Neg(%x) : float32
  return %a
}

func @g(%x: float32, %y: float32) -> (a: float32) {
  return %y
}
)");
}

TEST(Trim, AnEffectStillComesAfterWhatItNoLongerTakes) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %old = ReadVariableOp(%v) dtype=float32
      %call = StatefulPartitionedCall(%v, %old) f=@reset
    }
    func @reset(%v: resource, %unused: float32) -> () {
      %zero = Const() value=float32{0}
      %write = AssignVariableOp(%v, %zero)
    })",
                  {{}, {"old"}, {"call"}}),
            R"(
graph {
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %old = ReadVariableOp(%v) : float32
  %call = StatefulPartitionedCall(%v, ^%old) f=@reset
}

func @reset(%v: resource) -> () {
  %zero = Const() value=float32{0} : float32
  %write = AssignVariableOp(%v, %zero)
}
)");
}

TEST(Trim, AnEffectThatAnUnneededArgumentComesAfterStillHappens) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %v = VarHandleOp() shape=() dtype=float32
      %x = Placeholder() dtype=float32
      %write = StatefulPartitionedCall(%v, %x) f=@store : float32
      %after = Neg(%write)
      %read = StatefulPartitionedCall(%v, %after) f=@load : float32
    }
    func @store(%v: resource, %x: float32) -> (x: float32) {
      %write = AssignVariableOp(%v, %x) dtype=float32
      return %x
    }
    func @load(%v: resource, %unused: float32) -> (x: float32) {
      %x = ReadVariableOp(%v) : float32
      return %x
    })",
                  {{"x"}, {"read"}}),
            R"(
graph {
  %v = VarHandleOp() dtype=float32 shape=() : resource
  %x = Placeholder() : float32
  %write = StatefulPartitionedCall(%v, %x) f=@store
  %read = StatefulPartitionedCall(%v, ^%write) f=@load : float32
}

func @load(%v: resource) -> (x: float32) {
  %x = ReadVariableOp(%v) : float32
  return %x
}

func @store(%v: resource, %x: float32) -> () {
  %write = AssignVariableOp(%v, %x)
}
)");
}

TEST(Trim, NotWhatAnotherCallNeeds) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %one = PartitionedCall(%x) f=@f : (float32, float32)
      %two = PartitionedCall(%x) f=@f : (float32, float32)
    }
    func @f(%x: float32) -> (a: float32, b: float32) {
      %a = Neg(%x)
      %b = Exp(%x)
      return %a, %b
    })",
                  {{"x"}, {"one:0", "two:1"}}),
            "unchanged");
}

TEST(Trim, RecursionAndEffectsInLoops) {
  EXPECT_EQ(After(TrimPass, R"(
    graph {
      %n = Placeholder() dtype=int32
      %x = Placeholder() dtype=float32
      %call = PartitionedCall(%n, %x) f=@down : (int32, float32)
    }
    func @down(%n: int32, %x: float32) -> (n: int32, x: float32) {
      %zero = Const() value=int32{0}
      %more = Greater(%n, %zero)
      %if = StatelessIf(%more, %n, %x) then_branch=@again else_branch=@done : (int32, float32)
      return %if:0, %if:1
    }
    func @again(%n: int32, %x: float32) -> (n: int32, x: float32) {
      %one = Const() value=int32{1}
      %less = Sub(%n, %one)
      %y = Neg(%x)
      %call = PartitionedCall(%less, %y) f=@down : (int32, float32)
      return %call:0, %call:1
    }
    func @done(%n: int32, %x: float32) -> (n: int32, x: float32) {
      return %n, %x
    })",
                  {{"n", "x"}, {"call:0"}}),
            R"(
graph {
  %n = Placeholder() : int32
  %x = Placeholder() : float32
  %call = PartitionedCall(%n) f=@down : int32
}

func @again(%n: int32) -> (n: int32) {
  %one = Const() value=int32{1} : int32
  %less = Sub(%n, %one) : int32
  %call = PartitionedCall(%less) f=@down : int32
  return %call
}

func @done(%n: int32) -> (n: int32) {
  return %n
}

func @down(%n: int32) -> (n: int32) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %if = StatelessIf(%more, %n) else_branch=@done then_branch=@again : int32
  return %if
}
)");
}

}  // namespace
}  // namespace gyre::testing
