// If and Case as Switch and Merge.
#include "lower/text.h"

namespace gyre::testing {
namespace {

//    x ──────> Switch ─── 1 ──> then ──╮
//                │ ╰───── 0 ──> else ──┴─> Merge
//    p ──────────┴─> Switch(p, p)
//                      1 ╎  ╎ 0
//                  pivots of the sides
//
// Only %z of the then side has no input that is dead with it, so it alone needs the pivot. %u,
// which no side uses, gets no Switch.
TEST(LowerIf, IsASwitchPerInputAndAMergePerResult) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=float32
      %u = Placeholder() dtype=float32
      %p = Placeholder() dtype=bool shape=()
      %if = StatelessIf(%p, %x, %u) then_branch=@then else_branch=@else : (float32, float32)
    }
    func @then(%x: float32, %u: float32) -> (y: float32, z: float32) {
      %two = Const() value=float32{2}
      %y = Mul(%x, %two)
      %z = Square(%two)
      return %y, %z
    }
    func @else(%x: float32, %u: float32) -> (y: float32, z: float32) {
      return %x, %x
    })",
                        {{}, {"if:0", "if:1"}}),
            R"(
graph {
  %x = Placeholder() : float32
  %p = Placeholder() shape=() : bool
  %if/sides = Switch(%p, %p) : (bool, bool)
  %if/then = Identity(%if/sides:1) : bool
  %if/switch_0 = Switch(%x, %p) : (float32, float32)
  %if/two = Const() value=float32{2} : float32
  %if/y = Mul(%if/switch_0:1, %if/two) : float32
  %if/z = Square(%if/two, ^%if/then) : float32
  %if/merge_0 = Merge(%if/switch_0, %if/y) : (float32, int32)
  %if/merge_1 = Merge(%if/switch_0, %if/z) : (float32, int32)
}
)");
}

//    p ─> ToBool ─> Switch …         the truth of a number, or of a tensor of unknown rank
TEST(LowerIf, AConditionThatIsNoBoolScalarBecomesOne) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=int32
      %if = StatelessIf(%p, %x) then_branch=@negative else_branch=@same : int32
    }
    func @negative(%x: int32) -> (y: int32) {
      %y = Neg(%x)
      return %y
    }
    func @same(%x: int32) -> (y: int32) {
      return %x
    })",
                        {{}, {"if:0"}}),
            R"(
graph {
  %p = Placeholder() : bool
  %x = Placeholder() : int32
  %if/condition = ToBool(%p) : bool
  %if/switch_0 = Switch(%x, %if/condition) : (int32, int32)
  %if/y = Neg(%if/switch_0:1) : int32
  %if/merge_0 = Merge(%if/switch_0, %if/y) : (int32, int32)
}
)");
}

//    x ──> _SwitchN ─ i ─> branch i ─> Merge
//    index ───┘
TEST(LowerCase, IsASwitchNPerInput) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %index = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=int32
      %case = StatelessCase(%index, %x) branches=[@negative, @same, @three] : int32
    }
    func @negative(%x: int32) -> (y: int32) {
      %y = Neg(%x)
      return %y
    }
    func @same(%x: int32) -> (y: int32) {
      return %x
    }
    func @three(%x: int32) -> (y: int32) {
      %y = Const() value=int32{3}
      return %y
    })",
                        {{}, {"case:0"}}),
            R"(
graph {
  %index = Placeholder() shape=() : int32
  %x = Placeholder() : int32
  %case/sides = _SwitchN(%index, %index) : (int32, int32, int32)
  %case/branch_2 = Identity(%case/sides:2) : int32
  %case/switch_0 = _SwitchN(%x, %index) : (int32, int32, int32)
  %case/y = Neg(%case/switch_0) : int32
  %case/y_1 = Const() value=int32{3} : int32
  %case/branch_2_0 = Identity(%case/y_1, ^%case/branch_2) : int32
  %case/merge_0 = Merge(%case/y, %case/switch_0:1, %case/branch_2_0) : (int32, int32)
}
)");
}

//    entry ─> p' ─> pivots ╌> print ╌> token of the side ─> Merge of the tokens ╌> what follows
//
// `after` comes after the print if there is one; a side that is not taken does not kill it.
TEST(LowerIf, WhatFollowsComesAfterTheEffectsOfTheSideThatIsTaken) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %s = Placeholder() dtype=string shape=()
      %if = If(%p, %s) then_branch=@say else_branch=@quiet : string
      %after = NoOp(^%if)
    }
    func @say(%s: string) -> (s: string) {
      %print = PrintV2(%s)
      return %s
    }
    func @quiet(%s: string) -> (s: string) {
      return %s
    })",
                        {{}, {"if:0"}, {"after"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %s = Placeholder() shape=() : string
  %if/entry = NoOp(^%p, ^%s)
  %if/after_entry = Identity(%p, ^%if/entry) : bool
  %if/sides = Switch(%if/after_entry, %if/after_entry) : (bool, bool)
  %if/else = Identity(%if/sides) : bool
  %if/then = Identity(%if/sides:1) : bool
  %if/switch_0 = Switch(%s, %if/after_entry) : (string, string)
  %if/print = PrintV2(%if/switch_0:1)
  %if/merge_0 = Merge(%if/switch_0, %if/switch_0:1) : (string, int32)
  %if/then_finished = Identity(%if/then, ^%if/print) : bool
  %if/finished = Merge(%if/else, %if/then_finished) : (bool, int32)
  %if/output_0 = Identity(%if/merge_0, ^%if/finished) : string
  %after = NoOp(^%if/output_0)
}
)");
}

// The inner If's condition is a constant: it is dead when the outer one is, by the pivot.
TEST(LowerIf, InAnIf) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=int32
      %outer = StatelessIf(%p, %x) then_branch=@inner else_branch=@same : int32
    }
    func @inner(%x: int32) -> (y: int32) {
      %yes = Const() value=bool{true}
      %if = StatelessIf(%yes, %x) then_branch=@negative else_branch=@same : int32
      return %if
    }
    func @negative(%x: int32) -> (y: int32) {
      %y = Neg(%x)
      return %y
    }
    func @same(%x: int32) -> (y: int32) {
      return %x
    })",
                        {{}, {"outer:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() : int32
  %outer/sides = Switch(%p, %p) : (bool, bool)
  %outer/then = Identity(%outer/sides:1) : bool
  %outer/switch_0 = Switch(%x, %p) : (int32, int32)
  %outer/yes = Const() value=bool{true} : bool
  %outer/if/selector = Identity(%outer/yes, ^%outer/then) : bool
  %outer/if/switch_0 = Switch(%outer/switch_0:1, %outer/if/selector) : (int32, int32)
  %outer/if/y = Neg(%outer/if/switch_0:1) : int32
  %outer/if/merge_0 = Merge(%outer/if/switch_0, %outer/if/y) : (int32, int32)
  %outer/merge_0 = Merge(%outer/switch_0, %outer/if/merge_0) : (int32, int32)
}
)");
}

}  // namespace
}  // namespace gyre::testing
