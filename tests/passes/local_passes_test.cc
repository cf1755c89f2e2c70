// Passes that look at one body at a time: prune, fold, simplify, share.
#include "passes/fold.h"
#include "passes/prune.h"
#include "passes/share.h"
#include "passes/simplify.h"
#include "passes/text.h"

namespace gyre::testing {
namespace {

TEST(Prune, WhatNobodyNeedsGoesAndEffectsStay) {
  EXPECT_EQ(After(PrunePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %unused = Neg(%x)
      %call = StatefulPartitionedCall(%x) f=@f : float32
    }
    func @f(%x: float32) -> (y: float32) {
      %word = Const() value=string{"here"}
      %print = PrintV2(%word)
      %other = Neg(%x)
      %idle = StatefulPartitionedCall(%x) f=@pure : float32
      %y = Abs(%x)
      return %y
    }
    func @pure(%x: float32) -> (y: float32) {
      %y = Exp(%x)
      return %y
    })",
                  {{"x"}, {"call"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %call = StatefulPartitionedCall(%x) f=@f : float32
}

func @f(%x: float32) -> (y: float32) {
  %word = Const() value=string{"here"} : string
  %print = PrintV2(%word)
  %y = Abs(%x) : float32
  return %y
}
)");
}

TEST(Prune, AFedValueComesOutOfAPlaceholder) {
  EXPECT_EQ(After(PrunePass, R"(
    graph {
      %a = Placeholder() dtype=float32
      %b = Neg(%a)
      %split = Unpack(%b) num=2 : (float32, float32)
      %c = Add(%split, %split:1, ^%b)
    })",
                  {{"split:1", "split:0"}, {"c"}}),
            R"(
graph {
  %a = Placeholder() : float32
  %b = Neg(%a) : float32
  %split/1 = Placeholder() : float32
  %split = Placeholder() : float32
  %c = Add(%split, %split/1, ^%b) : float32
}
)");
}

TEST(Fold, ConstantsAndKnownShapes) {
  EXPECT_EQ(After(FoldPass, R"(
    graph {
      %x = Placeholder() dtype=float32 shape=(2,3)
      %two = Const() value=int32{2}
      %three = Const() value=int32{3}
      %sum = AddV2(%two, %three)
      %shape = Shape(%x)
      %parts = Unpack(%shape) num=2 : (int32, int32)
      %all = Pack(%sum, %parts:1)
    })",
                  {{"x"}, {"all"}}),
            R"(
graph {
  %x = Placeholder() shape=(2,3) : float32
  %two = Const() value=int32{2} : int32
  %three = Const() value=int32{3} : int32
  %sum = Const() value=int32{5} : int32
  %shape = Const() value=int32[2]{2, 3} : int32
  %parts/1 = Const() value=int32{3} : int32
  %all = Const() value=int32[2]{5, 3} : int32
}
)");
}

TEST(Fold, LeavesWhatFailsWhatIsFedAndWhatIsLarge) {
  EXPECT_EQ(After(FoldPass, R"(
    graph {
      %one = Const() value=int32{1}
      %zero = Const() value=int32{0}
      %fails = FloorDiv(%one, %zero)
      %fed = AddV2(%one, %one)
      %reads_fed = Neg(%fed)
      %dims = Const() value=int32[2]{1000, 1000}
      %large = Fill(%dims, %one)
      %random = RandomUniform(%dims) dtype=float32
    })",
                  {{"fed"}, {"fails", "reads_fed", "large", "random"}}),
            "unchanged");
}

TEST(Fold, AConstantKeepsTheOrderOfEffects) {
  EXPECT_EQ(After(FoldPass, R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=(2) shared_name="v"
      %old = ReadVariableOp(%v) dtype=float32
      %shape = Shape(%old)
      %zero = Const() value=float32{0}
      %zeros = Fill(%shape, %zero)
      %reset = AssignVariableOp(%v, %zeros)
    })",
                  {{}, {"old"}, {"reset"}}),
            R"(
graph {
  %v = VarHandleOp() dtype=float32 shape=(2) shared_name="v" : resource
  %old = ReadVariableOp(%v) : float32
  %shape = Const(^%old) value=int32[1]{2} : int32
  %zero = Const() value=float32{0} : float32
  %zeros = Fill(%shape, %zero) : float32
  %reset = AssignVariableOp(%v, %zeros)
}
)");
}

TEST(Share, EqualComputations) {
  EXPECT_EQ(After(SharePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %one = Const() value=float32{1}
      %uno = Const() value=float32{1}
      %a = AddV2(%x, %one)
      %b = AddV2(%x, %uno)
      %c = Mul(%a, %b)
    })",
                  {{"x"}, {"b", "c"}, {"b"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %one = Const() value=float32{1} : float32
  %a = AddV2(%x, %one) : float32
  %c = Mul(%a, %a) : float32
}
)");
}

TEST(Share, NotWhatDiffersDrawsActsOrIsFed) {
  EXPECT_EQ(
      After(SharePass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %y = Placeholder() dtype=float32
      %zero = Const() value=float32{0}
      %minus_zero = Const() value=float32{-0}
      %fed = Neg(%x)
      %same_as_fed = Neg(%x)
      %here = Abs(%x) on "/cpu:0"
      %there = Abs(%x) on "/cpu:1"
      %later = Abs(%x, ^%y)
      %shape = Const() value=int32[1]{2}
      %draw = RandomUniform(%shape) dtype=float32
      %again = RandomUniform(%shape) dtype=float32
      %array = TensorArrayV3(%n) dtype=float32
      %fresh = TensorArrayV3(%n) dtype=float32
      %n = Const() value=int32{2}
    })",
            {{"x", "y", "fed"},
             {"zero", "minus_zero", "same_as_fed", "here", "there", "later", "draw", "again"}}),
      "unchanged");
}

TEST(Share, NotTwoReadsOfAReference) {
  EXPECT_EQ(After(SharePass, R"(
    graph {
      %v = VariableV2() dtype=float32 shape=() shared_name="v" : float32&
      %one = Const() value=float32{1}
      %before = AddV2(%v, %one)
      %write = Assign(%v, %before) : float32&
      %after = AddV2(%v, %one, ^%write)
    })",
                  {{}, {"before", "after"}}),
            "unchanged");
}

TEST(Simplify, NeutralElementsAndChains) {
  EXPECT_EQ(After(SimplifyPass, R"(
    graph {
      %x = Placeholder() dtype=float32 shape=(2,3)
      %n = Placeholder() dtype=int32
      %p = Placeholder() dtype=bool
      %one = Const() value=float32{1}
      %row = Const() value=float32[3]{1, 1, 1}
      %zero = Const() value=float32{0}
      %minus_zero = Const() value=float32{-0}
      %a = Mul(%x, %row)
      %b = RealDiv(%a, %one)
      %c = Sub(%b, %zero)
      %d = AddV2(%minus_zero, %c)
      %e = Neg(%d)
      %f = Neg(%e)
      %no = Const() value=int32{0}
      %g = AddV2(%n, %no)
      %h = Cast(%g) DstT=int64
      %i = Cast(%h) DstT=int32
      %not = LogicalNot(%p)
      %notnot = LogicalNot(%not)
      %yes = Const() value=bool{true}
      %and = LogicalAnd(%yes, %notnot)
      %perm = Const() value=int32[2]{1, 0}
      %t = Transpose(%f, %perm)
      %tt = Transpose(%t, %perm)
      %dims = Const() value=int32[1]{6}
      %back = Const() value=int32[2]{2, 3}
      %flat = Reshape(%tt, %dims)
      %same = Reshape(%flat, %back)
      %id = Identity(%same)
      %out = Exp(%id)
    })",
                  {{"x", "n", "p"}, {"out", "i", "and"}}),
            R"(
graph {
  %x = Placeholder() shape=(2,3) : float32
  %n = Placeholder() : int32
  %p = Placeholder() : bool
  %one = Const() value=float32{1} : float32
  %row = Const() value=float32[3]{1 ...} : float32
  %zero = Const() value=float32{0} : float32
  %minus_zero = Const() value=float32{-0} : float32
  %e = Neg(%x) : float32
  %no = Const() value=int32{0} : int32
  %h = Cast(%n) : int64
  %not = LogicalNot(%p) : bool
  %yes = Const() value=bool{true} : bool
  %perm = Const() value=int32[2]{1, 0} : int32
  %t = Transpose(%x, %perm) : float32
  %dims = Const() value=int32[1]{6} : int32
  %back = Const() value=int32[2]{2, 3} : int32
  %flat = Reshape(%x, %dims) : float32
  %out = Exp(%x) : float32
}
)");
}

TEST(Simplify, NotWhatDiffersForSomeValue) {
  EXPECT_EQ(After(SimplifyPass, R"(
    graph {
      %x = Placeholder() dtype=float32
      %n = Placeholder() dtype=int64
      %p = Placeholder() dtype=bool
      %zero = Const() value=float32{0}
      %minus_zero = Const() value=float32{-0}
      %row = Const() value=float32[3]{1, 1, 1}
      %plus = AddV2(%x, %zero)
      %minus = Sub(%x, %minus_zero)
      %wider = Mul(%x, %row)
      %narrow = Cast(%n) DstT=int32
      %wide = Cast(%narrow) DstT=int64
      %no = Const() value=bool{false}
      %and = LogicalAnd(%no, %p)
      %select = SelectV2(%no, %x, %wider)
      %stop = StopGradient(%x)
      %custom = Identity(%x) _gradient_op_type="mine"
      %late = Identity(%x, ^%p)
    })",
                  {{"x", "n", "p"},
                   {"plus", "minus", "wide", "and", "select", "stop", "custom", "late"}}),
            "unchanged");
}

TEST(Simplify, LeavesGraphsOfPrimitivesAlone) {
  const std::string text = R"(
    graph {
      %x = Placeholder() dtype=float32
      %p = Placeholder() dtype=bool
      %switch = Switch(%x, %p) : (float32, float32)
      %left = Identity(%switch)
      %right = Identity(%switch:1)
      %merge = Merge(%left, %right) : (float32, int32)
    })";
  for (const PipelinePass& pass : PipelinePasses()) {
    if (pass.name == "raise") continue;
    EXPECT_EQ(After(pass.run, text, {{"x", "p"}, {"merge"}}), "unchanged") << pass.name;
  }
}

}  // namespace
}  // namespace gyre::testing
