// Calls: expanded in place where that can be done.
#include "lower/text.h"

namespace gyre::testing {
namespace {

//    inputs ──> nodes of f ──> outputs
TEST(LowerCall, IsTheBody) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32
      %call = PartitionedCall(%x) f=@twice : (int32, int32)
      %again = PartitionedCall(%call) f=@twice : (int32, int32)
    }
    func @twice(%x: int32) -> (y: int32, x: int32) {
      %two = Const() value=int32{2}
      %y = Mul(%x, %two)
      return %y, %x
    })",
                        {{}, {"again:0", "call:1"}}),
            R"(
graph {
  %x = Placeholder() : int32
  %call/two = Const() value=int32{2} : int32
  %call/y = Mul(%x, %call/two) : int32
  %again/two = Const() value=int32{2} : int32
  %again/y = Mul(%call/y, %again/two) : int32
}
)");
}

//    inputs ─────> nodes ──────────╮
//       ╰╌> entry ╌> print ╌> Identity ─> outputs
TEST(LowerCall, KeepsItsPlaceInTheOrderOfEffects) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=string shape=()
      %y = Placeholder() dtype=string shape=()
      %first = StatefulPartitionedCall(%x, %y) f=@print : string
      %then = StatefulPartitionedCall(%y, %x, ^%first) f=@print : string
    }
    func @print(%x: string, %y: string) -> (y: string) {
      %print = PrintV2(%x)
      return %y
    })",
                        {{}, {"then:0"}}),
            R"(
graph {
  %x = Placeholder() shape=() : string
  %y = Placeholder() shape=() : string
  %first/entry = NoOp(^%x, ^%y)
  %first/print = PrintV2(%x, ^%first/entry)
  %first/output_0 = Identity(%y, ^%first/print) : string
  %then/entry = IdentityN(%y, %x, ^%first/output_0) : (string, string)
  %then/print = PrintV2(%then/entry)
  %then/output_0 = Identity(%then/entry:1, ^%then/print) : string
}
)");
}

// A recursive function stays a call. So do, inside a loop, a condition and a body that cannot be
// expanded: because a function that they need is missing, or because they have primitives.
TEST(LowerCall, StaysOneWhereItMust) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32
      %call = PartitionedCall(%x) f=@forever : int32
      %loop = StatelessWhile(%call) cond=@odd body=@unsound parallel_iterations=2 : int32
    }
    func @forever(%x: int32) -> (y: int32) {
      %y = PartitionedCall(%x) f=@forever : int32
      return %y
    }
    func @odd(%x: int32) -> (p: bool) {
      %p = Placeholder() dtype=bool
      %switch = Switch(%x, %p)
      %merge = Merge(%switch, %switch:1)
      return %p, ^%merge
    }
    func @unsound(%x: int32) -> (y: int32) {
      %y = PartitionedCall(%x) f=@missing : int32
      return %y
    })",
                        {{}, {"loop:0"}}),
            R"(
graph {
  %x = Placeholder() : int32
  %call = PartitionedCall(%x) f=@forever : int32
  %loop/entry = NoOp(^%call)
  %loop/token = Const() value=bool{true} : bool
  %loop/enter_0 = Enter(%call) frame_name="loop" parallel_iterations=2 : int32
  %loop/enter_token = Enter(%loop/token, ^%loop/entry) frame_name="loop" parallel_iterations=2 : bool
  %loop/merge_0 = Merge(%loop/enter_0, %loop/next_0) : (int32, int32)
  %loop/merge_token = Merge(%loop/enter_token, %loop/next_token) : (bool, int32)
  %loop/cond = StatefulPartitionedCall(%loop/merge_0, ^%loop/merge_token) f=@odd : bool
  %loop/condition = ToBool(%loop/cond) : bool
  %loop/loop_cond = LoopCond(%loop/condition) : bool
  %loop/switch_0 = Switch(%loop/merge_0, %loop/loop_cond) : (int32, int32)
  %loop/condition_finished = Identity(%loop/merge_token, ^%loop/cond) : bool
  %loop/switch_token = Switch(%loop/condition_finished, %loop/loop_cond) : (bool, bool)
  %loop/body_entry = Identity(%loop/switch_token:1) : bool
  %loop/body_1 = StatefulPartitionedCall(%loop/switch_0:1, ^%loop/body_entry) f=@unsound : int32
  %loop/body_finished = Identity(%loop/switch_token:1, ^%loop/body_1) : bool
  %loop/next_0 = NextIteration(%loop/body_1) : int32
  %loop/next_token = NextIteration(%loop/body_finished) : bool
  %loop/exit_0 = Exit(%loop/switch_0) : int32
  %loop/exit_token = Exit(%loop/switch_token) : bool
  %loop/output_0 = Identity(%loop/exit_0, ^%loop/exit_token) : int32
}
)");
}

// A function that contains an If of itself is expanded once.
TEST(LowerCall, RecursionThroughABranch) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32 shape=()
      %if = StatelessIf(%x, %x) then_branch=@down else_branch=@zero : int32
    }
    func @down(%x: int32) -> (y: int32) {
      %one = Const() value=int32{1}
      %less = Sub(%x, %one)
      %if = StatelessIf(%less, %less) then_branch=@down else_branch=@zero : int32
      return %if
    }
    func @zero(%x: int32) -> (y: int32) {
      %y = Const() value=int32{0}
      return %y
    })",
                        {{}, {"if:0"}}),
            R"(
graph {
  %x = Placeholder() shape=() : int32
  %if/condition = ToBool(%x) : bool
  %if/sides = Switch(%if/condition, %if/condition) : (bool, bool)
  %if/else = Identity(%if/sides) : bool
  %if/switch_0 = Switch(%x, %if/condition) : (int32, int32)
  %if/y = Const() value=int32{0} : int32
  %if/one = Const() value=int32{1} : int32
  %if/less = Sub(%if/switch_0:1, %if/one) : int32
  %if/if/condition = ToBool(%if/less) : bool
  %if/if/sides = Switch(%if/if/condition, %if/if/condition) : (bool, bool)
  %if/if/else = Identity(%if/if/sides) : bool
  %if/if/switch_0 = Switch(%if/less, %if/if/condition) : (int32, int32)
  %if/if/y = Const() value=int32{0} : int32
  %if/if/then_branch = PartitionedCall(%if/if/switch_0:1) f=@down : int32
  %if/if/else_0 = Identity(%if/if/y, ^%if/if/else) : int32
  %if/if/merge_0 = Merge(%if/if/else_0, %if/if/then_branch) : (int32, int32)
  %if/else_0 = Identity(%if/y, ^%if/else) : int32
  %if/merge_0 = Merge(%if/else_0, %if/if/merge_0) : (int32, int32)
}
)");
}

}  // namespace
}  // namespace gyre::testing
