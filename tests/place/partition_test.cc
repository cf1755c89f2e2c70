// What each device runs, as text: the shapes that loops and conditionals take when they are cut.
#include "place/partition.h"

#include "place/cutting.h"

namespace gyre::testing {
namespace {

std::string Parts(const std::string& text, const std::vector<std::string>& fetches) {
  const CutText cut = CutFor("cpu:2", text, fetches);
  EXPECT_TRUE(cut.cut.ok()) << cut.cut.status();
  return cut.cut.ok() ? TextOfParts(*cut.cut) : "";
}

TEST(Partition, SendsAValueOnceHoweverManyUseIt) {
  EXPECT_EQ(Parts(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Neg(%x) on "/cpu:0"
      %b = Neg(%a) on "/cpu:1"
      %c = Mul(%a, %b) on "/cpu:1"
    })",
                  {"c"}),
            R"(
CPU:0 graph {
  %x = Const() value=float32{1} : float32
  %a = Neg(%x) : float32 on "/cpu:0"
  %a/send_1 = _Send(%a) tensor_name="a:0"
}
CPU:1 graph {
  %b = Neg(%a/recv_0) : float32 on "/cpu:1"
  %c = Mul(%a/recv_0, %b) : float32 on "/cpu:1"
  %a/recv_0 = _Recv() tensor_name="a:0" : float32
}
)");
}

// A _Recv lives even where it receives that the node is dead: the Identity behind it is.
TEST(Partition, SendsAnEmptyValueForAControlEdge) {
  EXPECT_EQ(Parts(R"(
    graph {
      %a = Const() value=float32{1} on "/cpu:0"
      %b = Const(^%a) value=float32{2} on "/cpu:1"
    })",
                  {"b"}),
            R"(
CPU:0 graph {
  %a = Const() value=float32{1} : float32 on "/cpu:0"
  %a/done = Const(^%a) value=bool[0]{} : bool
  %a/send_1 = _Send(%a/done) tensor_name="^a"
}
CPU:1 graph {
  %b = Const(^%a/done_on_1) value=float32{2} : float32 on "/cpu:1"
  %a/recv_0 = _Recv() tensor_name="^a" : bool
  %a/done_on_1 = Identity(%a/recv_0) : bool
}
)");
}

TEST(Partition, OfAConditionalSendsTheDeadSideToo) {
  EXPECT_EQ(Parts(R"(
    graph {
      %p = Const() value=bool{true} : bool on "/cpu:0"
      %x = Const() value=float32{1} : float32 on "/cpu:0"
      %sw = Switch(%x, %p) : (float32, float32) on "/cpu:0"
      %t = Neg(%sw:1) on "/cpu:1"
      %y = Merge(%sw, %t) on "/cpu:0"
    })",
                  {"y"}),
            R"(
CPU:0 graph {
  %p = Const() value=bool{true} : bool on "/cpu:0"
  %x = Const() value=float32{1} : float32 on "/cpu:0"
  %sw = Switch(%x, %p) : (float32, float32) on "/cpu:0"
  %y = Merge(%sw, %t/recv_1) : (float32, int32) on "/cpu:0"
  %sw/send_1 = _Send(%sw:1) tensor_name="sw:1"
  %t/recv_1 = _Recv() tensor_name="t:0" : float32
}
CPU:1 graph {
  %t = Neg(%sw/recv_0) : float32 on "/cpu:1"
  %sw/recv_0 = _Recv() tensor_name="sw:1" : float32
  %t/send_0 = _Send(%t) tensor_name="t:0"
}
)");
}

//   CPU:0 counts and decides; CPU:1 has the body. Its control loop goes by CPU:0's predicate.
TEST(Partition, OfALoopHasAControlLoopWhereThePredicateIsNot) {
  EXPECT_EQ(Parts(R"(
    graph {
      %i = Const() value=int32{0} : int32 on "/cpu:0"
      %k = Const() value=int32{3} : int32 on "/cpu:1"
      %enter = Enter(%i) frame_name="loop" on "/cpu:0"
      %merge = Merge(%enter, %next) : (int32, int32) on "/cpu:0"
      %ten = Const(^%merge) value=int32{10} : int32 on "/cpu:0"
      %less = Less(%merge, %ten) on "/cpu:0"
      %cond = LoopCond(%less) on "/cpu:0"
      %sw = Switch(%merge, %cond) : (int32, int32) on "/cpu:0"
      %step = Enter(%k) frame_name="loop" is_constant=true
      %add = AddV2(%sw:1, %step) : int32 on "/cpu:1"
      %next = NextIteration(%add) : int32 on "/cpu:0"
      %exit = Exit(%sw) : int32 on "/cpu:0"
    })",
                  {"exit"}),
            R"(
CPU:0 graph {
  %i = Const() value=int32{0} : int32 on "/cpu:0"
  %enter = Enter(%i) frame_name="loop" : int32 on "/cpu:0"
  %merge = Merge(%enter, %next) : (int32, int32) on "/cpu:0"
  %ten = Const(^%merge) value=int32{10} : int32 on "/cpu:0"
  %less = Less(%merge, %ten) : bool on "/cpu:0"
  %cond = LoopCond(%less) : bool on "/cpu:0"
  %sw = Switch(%merge, %cond) : (int32, int32) on "/cpu:0"
  %next = NextIteration(%add/recv_1) : int32 on "/cpu:0"
  %exit = Exit(%sw) : int32 on "/cpu:0"
  %cond/send_1 = _Send(%cond) tensor_name="cond:0"
  %sw/send_1 = _Send(%sw:1) tensor_name="sw:1"
  %loop/start_0 = Const() value=bool{true} : bool
  %loop/enter_0 = Enter(%loop/start_0) frame_name="loop" : bool
  %loop/pivot_0 = Merge(%loop/enter_0, %loop/next_0) : (bool, int32)
  %loop/switch_0 = Switch(%loop/pivot_0, %cond) : (bool, bool)
  %loop/next_0 = NextIteration(%loop/switch_0:1) : bool
  %add/recv_1 = _Recv(^%loop/pivot_0) tensor_name="add:0" : int32
}
CPU:1 graph {
  %k = Const() value=int32{3} : int32 on "/cpu:1"
  %add = AddV2(%sw/recv_0, %step) : int32 on "/cpu:1"
  %loop/start_1 = Const() value=bool{true} : bool
  %loop/enter_1 = Enter(%loop/start_1) frame_name="loop" : bool
  %loop/pivot_1 = Merge(%loop/enter_1, %loop/next_1) : (bool, int32)
  %cond/recv_0 = _Recv(^%loop/pivot_1) tensor_name="cond:0" : bool
  %cond/on_1 = LoopCond(%cond/recv_0) : bool
  %loop/switch_1 = Switch(%loop/pivot_1, %cond/on_1) : (bool, bool)
  %loop/next_1 = NextIteration(%loop/switch_1:1) : bool
  %sw/recv_0 = _Recv(^%loop/pivot_1) tensor_name="sw:1" : int32
  %step = Enter(%k) frame_name="loop" is_constant=true : int32
  %add/send_0 = _Send(%add) tensor_name="add:0"
}
)");
}

// Of a value that a loop does not change, a device may need no more than that it is there.
TEST(Partition, WhatIsOnlyWaitedForDoesNotCross) {
  EXPECT_EQ(Parts(R"(
    graph {
      %w = Const() value=float32[3]{1, 2, 3} on "/cpu:0"
      %zero = Const() value=int32{0} on "/cpu:0"
      %there = Enter(%w) frame_name="f" is_constant=true : float32 on "/cpu:0"
      %enter = Enter(%zero) frame_name="f" : int32 on "/cpu:0"
      %merge = Merge(%enter, %next) : (int32, int32) on "/cpu:0"
      %bound = Const(^%merge) value=int32{3} on "/cpu:0"
      %less = Less(%merge, %bound) on "/cpu:0"
      %more = LoopCond(%less) on "/cpu:0"
      %switch = Switch(%merge, %more) : (int32, int32) on "/cpu:0"
      %one = Const(^%there) value=int32{1} on "/cpu:1"
      %i = AddV2(%switch:1, %one) on "/cpu:0"
      %next = NextIteration(%i) : int32 on "/cpu:0"
      %exit = Exit(%switch) on "/cpu:0"
    })",
                  {"exit"}),
            R"(
CPU:0 graph {
  %w = Const() value=float32[3]{1, 2, 3} : float32 on "/cpu:0"
  %zero = Const() value=int32{0} : int32 on "/cpu:0"
  %enter = Enter(%zero) frame_name="f" : int32 on "/cpu:0"
  %merge = Merge(%enter, %next) : (int32, int32) on "/cpu:0"
  %bound = Const(^%merge) value=int32{3} : int32 on "/cpu:0"
  %less = Less(%merge, %bound) : bool on "/cpu:0"
  %more = LoopCond(%less) : bool on "/cpu:0"
  %switch = Switch(%merge, %more) : (int32, int32) on "/cpu:0"
  %i = AddV2(%switch:1, %one/recv_1) : int32 on "/cpu:0"
  %next = NextIteration(%i) : int32 on "/cpu:0"
  %exit = Exit(%switch) : int32 on "/cpu:0"
  %w/there = Identity(%w) : float32
  %w/done = Const(^%w/there) value=bool[0]{} : bool
  %w/send_1 = _Send(%w/done) tensor_name="^w:0"
  %f/start_0 = Const() value=bool{true} : bool
  %f/enter_0 = Enter(%f/start_0) frame_name="f" : bool
  %f/pivot_0 = Merge(%f/enter_0, %f/next_0) : (bool, int32)
  %f/switch_0 = Switch(%f/pivot_0, %more) : (bool, bool)
  %f/next_0 = NextIteration(%f/switch_0:1) : bool
  %one/recv_1 = _Recv(^%f/pivot_0) tensor_name="one:0" : int32
  %more/send_1 = _Send(%more) tensor_name="more:0"
}
CPU:1 graph {
  %one = Const(^%there/done_on_1) value=int32{1} : int32 on "/cpu:1"
  %w/recv_0 = _Recv() tensor_name="^w:0" : bool
  %w/done_on_1 = Identity(%w/recv_0) : bool
  %there/done = Const(^%w/done_on_1) value=bool[0]{} : bool
  %there/done_on_1 = Enter(%there/done) frame_name="f" is_constant=true : bool
  %one/send_0 = _Send(%one) tensor_name="one:0"
  %f/start_1 = Const() value=bool{true} : bool
  %f/enter_1 = Enter(%f/start_1) frame_name="f" : bool
  %f/pivot_1 = Merge(%f/enter_1, %f/next_1) : (bool, int32)
  %more/recv_0 = _Recv(^%f/pivot_1) tensor_name="more:0" : bool
  %more/on_1 = LoopCond(%more/recv_0) : bool
  %f/switch_1 = Switch(%f/pivot_1, %more/on_1) : (bool, bool)
  %f/next_1 = NextIteration(%f/switch_1:1) : bool
}
)");
}

}  // namespace
}  // namespace gyre::testing
