// While and For as frames.
#include "lower/text.h"

namespace gyre::testing {
namespace {

//              ╭───────────────────────────────── NextIteration <── body <─╮
//              v                                                           │ 1
//    x ─> Enter ─> Merge ──┬──────────────────────────────────────────> Switch ─ 0 ─> Exit ─> x'
//                          ╰──> cond ──> LoopCond ─────────────────────────^
//
//    n ─> Enter (constant) ──> cond, body        n does not change: n' is n itself
//
// Neg depends on n alone and waits for the pivot of the body.
TEST(LowerWhile, IsARowPerVariableThatChanges) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %i = Const() value=int32{0}
      %x = Placeholder() dtype=int32
      %loop = StatelessWhile(%i, %n, %x) cond=@more body=@step parallel_iterations=4
        : (int32, int32, int32)
    }
    func @more(%i: int32, %n: int32, %x: int32) -> (p: bool) {
      %p = Less(%i, %n)
      return %p
    }
    func @step(%i: int32, %n: int32, %x: int32) -> (i: int32, n: int32, x: int32) {
      %one = Const() value=int32{1}
      %next = AddV2(%i, %one)
      %neg = Neg(%n)
      %y = Mul(%x, %neg)
      return %next, %n, %y
    })",
                        {{}, {"loop:1", "loop:2"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %i = Const() value=int32{0} : int32
  %x = Placeholder() : int32
  %loop/enter_0 = Enter(%i) frame_name="loop" parallel_iterations=4 : int32
  %loop/enter_2 = Enter(%x) frame_name="loop" parallel_iterations=4 : int32
  %loop/merge_0 = Merge(%loop/enter_0, %loop/next_0) : (int32, int32)
  %loop/merge_2 = Merge(%loop/enter_2, %loop/next_2) : (int32, int32)
  %loop/invariant_n = Enter(%n) frame_name="loop" is_constant=true parallel_iterations=4 : int32
  %loop/p = Less(%loop/merge_0, %loop/invariant_n) : bool
  %loop/loop_cond = LoopCond(%loop/p) : bool
  %loop/switch_0 = Switch(%loop/merge_0, %loop/loop_cond) : (int32, int32)
  %loop/switch_2 = Switch(%loop/merge_2, %loop/loop_cond) : (int32, int32)
  %loop/body = Identity(%loop/switch_0:1) : int32
  %loop/one = Const() value=int32{1} : int32
  %loop/invariant_one = Enter(%loop/one) frame_name="loop" is_constant=true parallel_iterations=4 : int32
  %loop/next = AddV2(%loop/switch_0:1, %loop/invariant_one) : int32
  %loop/neg = Neg(%loop/invariant_n, ^%loop/body) : int32
  %loop/y = Mul(%loop/switch_2:1, %loop/neg) : int32
  %loop/next_0 = NextIteration(%loop/next) : int32
  %loop/next_2 = NextIteration(%loop/y) : int32
  %loop/exit_2 = Exit(%loop/switch_2) : int32
}
)");
}

// Nothing changes: a token opens the frame. The condition, which needs nothing of the loop, waits
// for it.
TEST(LowerWhile, WithoutAVariableThatChangesHasAToken) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32
      %loop = StatelessWhile(%x) cond=@never body=@same : int32
      %after = NoOp(^%loop)
    }
    func @never(%x: int32) -> (p: bool) {
      %p = Const() value=bool{false}
      return %p
    }
    func @same(%x: int32) -> (x: int32) {
      return %x
    })",
                        {{}, {"loop:0"}, {"after"}}),
            R"(
graph {
  %x = Placeholder() : int32
  %loop/token = Const() value=bool{true} : bool
  %loop/enter_token = Enter(%loop/token) frame_name="loop" : bool
  %loop/merge_token = Merge(%loop/enter_token, %loop/next_token) : (bool, int32)
  %loop/p = Const() value=bool{false} : bool
  %loop/invariant_p = Enter(%loop/p) frame_name="loop" is_constant=true : bool
  %loop/go_on = Identity(%loop/invariant_p, ^%loop/merge_token) : bool
  %loop/loop_cond = LoopCond(%loop/go_on) : bool
  %loop/switch_token = Switch(%loop/merge_token, %loop/loop_cond) : (bool, bool)
  %loop/next_token = NextIteration(%loop/switch_token:1) : bool
  %loop/exit_token = Exit(%loop/switch_token) : bool
  %loop/done = NoOp(^%x, ^%loop/exit_token)
  %after = NoOp(^%loop/done)
}
)");
}

//    entry ╌> Enter ─> Merge ╌> print of cond ╌> Switch ╌> print of body ╌> NextIteration
//                                                   ╰─ 0 ─> Exit ╌> what follows
TEST(LowerWhile, ATokenCarriesTheOrderOfEffects) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %s = Placeholder() dtype=string shape=()
      %p = Placeholder() dtype=bool shape=()
      %loop = While(%s, %p) cond=@more body=@step : (string, bool)
    }
    func @more(%s: string, %p: bool) -> (p: bool) {
      %print = PrintV2(%s)
      return %p
    }
    func @step(%s: string, %p: bool) -> (s: string, p: bool) {
      %no = LogicalNot(%p)
      %print = PrintV2(%s)
      return %s, %no
    })",
                        {{}, {"loop:1"}}),
            R"(
graph {
  %s = Placeholder() shape=() : string
  %p = Placeholder() shape=() : bool
  %loop/entry = NoOp(^%s, ^%p)
  %loop/token = Const() value=bool{true} : bool
  %loop/enter_1 = Enter(%p) frame_name="loop" : bool
  %loop/enter_token = Enter(%loop/token, ^%loop/entry) frame_name="loop" : bool
  %loop/merge_1 = Merge(%loop/enter_1, %loop/next_1) : (bool, int32)
  %loop/merge_token = Merge(%loop/enter_token, %loop/next_token) : (bool, int32)
  %loop/invariant_s = Enter(%s) frame_name="loop" is_constant=true : string
  %loop/print = PrintV2(%loop/invariant_s, ^%loop/merge_token)
  %loop/loop_cond = LoopCond(%loop/merge_1) : bool
  %loop/switch_1 = Switch(%loop/merge_1, %loop/loop_cond) : (bool, bool)
  %loop/condition_finished = Identity(%loop/merge_token, ^%loop/print) : bool
  %loop/switch_token = Switch(%loop/condition_finished, %loop/loop_cond) : (bool, bool)
  %loop/body_entry = Identity(%loop/switch_token:1) : bool
  %loop/no = LogicalNot(%loop/switch_1:1) : bool
  %loop/print_1 = PrintV2(%loop/invariant_s, ^%loop/body_entry)
  %loop/body_finished = Identity(%loop/switch_token:1, ^%loop/print_1) : bool
  %loop/next_1 = NextIteration(%loop/no) : bool
  %loop/next_token = NextIteration(%loop/body_finished) : bool
  %loop/exit_1 = Exit(%loop/switch_1) : bool
  %loop/exit_token = Exit(%loop/switch_token) : bool
  %loop/output_1 = Identity(%loop/exit_1, ^%loop/exit_token) : bool
}
)");
}

// The constant of the inner body stands outside of both loops and enters them one by one.
TEST(LowerWhile, InAWhile) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32 shape=()
      %loop = StatelessWhile(%x) cond=@small body=@outer : int32
    }
    func @small(%x: int32) -> (p: bool) {
      %ten = Const() value=int32{10}
      %p = Less(%x, %ten)
      return %p
    }
    func @outer(%x: int32) -> (x: int32) {
      %inner = StatelessWhile(%x) cond=@small body=@double : int32
      return %inner
    }
    func @double(%x: int32) -> (x: int32) {
      %two = Const() value=int32{2}
      %y = Mul(%x, %two)
      return %y
    })",
                        {{}, {"loop:0"}}),
            R"(
graph {
  %x = Placeholder() shape=() : int32
  %loop/enter_0 = Enter(%x) frame_name="loop" : int32
  %loop/merge_0 = Merge(%loop/enter_0, %loop/next_0) : (int32, int32)
  %loop/ten = Const() value=int32{10} : int32
  %loop/invariant_ten = Enter(%loop/ten) frame_name="loop" is_constant=true : int32
  %loop/p = Less(%loop/merge_0, %loop/invariant_ten) : bool
  %loop/loop_cond = LoopCond(%loop/p) : bool
  %loop/switch_0 = Switch(%loop/merge_0, %loop/loop_cond) : (int32, int32)
  %loop/inner/enter_0 = Enter(%loop/switch_0:1) frame_name="loop/inner" : int32
  %loop/inner/merge_0 = Merge(%loop/inner/enter_0, %loop/inner/next_0) : (int32, int32)
  %loop/inner/ten = Const() value=int32{10} : int32
  %loop/invariant_ten_1 = Enter(%loop/inner/ten) frame_name="loop" is_constant=true : int32
  %loop/inner/invariant_ten_1 = Enter(%loop/invariant_ten_1) frame_name="loop/inner" is_constant=true : int32
  %loop/inner/p = Less(%loop/inner/merge_0, %loop/inner/invariant_ten_1) : bool
  %loop/inner/loop_cond = LoopCond(%loop/inner/p) : bool
  %loop/inner/switch_0 = Switch(%loop/inner/merge_0, %loop/inner/loop_cond) : (int32, int32)
  %loop/inner/two = Const() value=int32{2} : int32
  %loop/invariant_two = Enter(%loop/inner/two) frame_name="loop" is_constant=true : int32
  %loop/inner/invariant_two = Enter(%loop/invariant_two) frame_name="loop/inner" is_constant=true : int32
  %loop/inner/y = Mul(%loop/inner/switch_0:1, %loop/inner/invariant_two) : int32
  %loop/inner/next_0 = NextIteration(%loop/inner/y) : int32
  %loop/inner/exit_0 = Exit(%loop/inner/switch_0) : int32
  %loop/next_0 = NextIteration(%loop/inner/exit_0) : int32
  %loop/exit_0 = Exit(%loop/switch_0) : int32
}
)");
}

// Whether a branch in a loop is taken is asked in each iteration, the last included; what only
// depends on invariants is dead there by the pivot of the side.
TEST(LowerWhile, WithAnIf) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %x = Placeholder() dtype=int32 shape=()
      %flag = Placeholder() dtype=bool shape=()
      %loop = StatelessWhile(%x, %flag) cond=@small body=@step : (int32, bool)
    }
    func @small(%x: int32, %flag: bool) -> (p: bool) {
      %ten = Const() value=int32{10}
      %p = Less(%x, %ten)
      return %p
    }
    func @step(%x: int32, %flag: bool) -> (x: int32, flag: bool) {
      %if = StatelessIf(%flag, %x) then_branch=@double else_branch=@ten : int32
      return %if, %flag
    }
    func @double(%x: int32) -> (x: int32) {
      %y = AddV2(%x, %x)
      return %y
    }
    func @ten(%x: int32) -> (x: int32) {
      %y = Const() value=int32{10}
      return %y
    })",
                        {{}, {"loop:0"}}),
            R"(
graph {
  %x = Placeholder() shape=() : int32
  %flag = Placeholder() shape=() : bool
  %loop/enter_0 = Enter(%x) frame_name="loop" : int32
  %loop/merge_0 = Merge(%loop/enter_0, %loop/next_0) : (int32, int32)
  %loop/ten = Const() value=int32{10} : int32
  %loop/invariant_ten = Enter(%loop/ten) frame_name="loop" is_constant=true : int32
  %loop/p = Less(%loop/merge_0, %loop/invariant_ten) : bool
  %loop/loop_cond = LoopCond(%loop/p) : bool
  %loop/switch_0 = Switch(%loop/merge_0, %loop/loop_cond) : (int32, int32)
  %loop/body = Identity(%loop/switch_0:1) : int32
  %loop/invariant_flag = Enter(%flag) frame_name="loop" is_constant=true : bool
  %loop/if/selector = Identity(%loop/invariant_flag, ^%loop/body) : bool
  %loop/if/sides = Switch(%loop/if/selector, %loop/if/selector) : (bool, bool)
  %loop/if/else = Identity(%loop/if/sides) : bool
  %loop/if/switch_0 = Switch(%loop/switch_0:1, %loop/if/selector) : (int32, int32)
  %loop/if/y = Const() value=int32{10} : int32
  %loop/if/y_1 = AddV2(%loop/if/switch_0:1, %loop/if/switch_0:1) : int32
  %loop/invariant_y = Enter(%loop/if/y) frame_name="loop" is_constant=true : int32
  %loop/if/else_0 = Identity(%loop/invariant_y, ^%loop/if/else) : int32
  %loop/if/merge_0 = Merge(%loop/if/else_0, %loop/if/y_1) : (int32, int32)
  %loop/next_0 = NextIteration(%loop/if/merge_0) : int32
  %loop/exit_0 = Exit(%loop/switch_0) : int32
}
)");
}

//    trips = _ForTrips(start, limit, delta)
//    k = 0; while (k < trips) { values = body(int32(start + k * delta), values); k = k + 1 }
TEST(LowerFor, CountsItsTrips) {
  EXPECT_EQ(LoweredText(R"(
    graph {
      %start = Placeholder() dtype=int32 shape=()
      %limit = Placeholder() dtype=int32 shape=()
      %delta = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=int32
      %for = For(%start, %limit, %delta, %x) body=@add : int32
    }
    func @add(%i: int32, %x: int32) -> (x: int32) {
      %y = AddV2(%x, %i)
      return %y
    })",
                        {{}, {"for:0"}}),
            R"(
graph {
  %start = Placeholder() shape=() : int32
  %limit = Placeholder() shape=() : int32
  %delta = Placeholder() shape=() : int32
  %x = Placeholder() : int32
  %for/trips = _ForTrips(%start, %limit, %delta) : int64
  %for/counter = Const() value=int64{0} : int64
  %for/enter_0 = Enter(%x) frame_name="for" : int32
  %for/enter_counter = Enter(%for/counter) frame_name="for" : int64
  %for/merge_0 = Merge(%for/enter_0, %for/next_0) : (int32, int32)
  %for/merge_counter = Merge(%for/enter_counter, %for/next_counter_1) : (int64, int32)
  %for/invariant_trips = Enter(%for/trips) frame_name="for" is_constant=true : int64
  %for/more = Less(%for/merge_counter, %for/invariant_trips) : bool
  %for/loop_cond = LoopCond(%for/more) : bool
  %for/switch_0 = Switch(%for/merge_0, %for/loop_cond) : (int32, int32)
  %for/switch_counter = Switch(%for/merge_counter, %for/loop_cond) : (int64, int64)
  %for/delta = Cast(%delta) : int64
  %for/invariant_delta = Enter(%for/delta) frame_name="for" is_constant=true : int64
  %for/offset = Mul(%for/switch_counter:1, %for/invariant_delta) : int64
  %for/start = Cast(%start) : int64
  %for/invariant_start = Enter(%for/start) frame_name="for" is_constant=true : int64
  %for/value = AddV2(%for/invariant_start, %for/offset) : int64
  %for/index = Cast(%for/value) : int32
  %for/y = AddV2(%for/switch_0:1, %for/index) : int32
  %for/one = Const() value=int64{1} : int64
  %for/invariant_one = Enter(%for/one) frame_name="for" is_constant=true : int64
  %for/next_counter = AddV2(%for/switch_counter:1, %for/invariant_one) : int64
  %for/next_0 = NextIteration(%for/y) : int32
  %for/next_counter_1 = NextIteration(%for/next_counter) : int64
  %for/exit_0 = Exit(%for/switch_0) : int32
}
)");
}

}  // namespace
}  // namespace gyre::testing
