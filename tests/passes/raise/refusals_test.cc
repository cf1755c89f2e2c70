// What has no structured form is refused, with the node and the reason.
#include "absl/strings/str_cat.h"
#include "passes/raise/text.h"

namespace gyre::testing {
namespace {

TEST(RaiseRefusals, AVariableThatIsDeadWhereItsLoopRuns) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %zero = Const() value=int32{0}
      %s = Switch(%zero, %p)
      %enter = Enter(%zero) frame_name="loop" : int32
      %enter_s = Enter(%s:1) frame_name="loop" : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %j = Merge(%enter_s, %next_j) : (int32, int32)
      %three = Const(^%i) value=int32{3} : int32
      %less = Less(%i, %three) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%i, %cond) : (int32, int32)
      %switch_j = Switch(%j, %cond) : (int32, int32)
      %add = AddV2(%switch:1, %switch:1) : int32
      %next = NextIteration(%add) : int32
      %next_j = NextIteration(%switch_j:1) : int32
      %exit = Exit(%switch) : int32
      %exit_j = Exit(%switch_j) : int32
    })",
                       {{}, {"exit:0", "exit_j:0"}}),
            "the graph has no structured form: node enter_s (Enter) is alive on fewer paths than "
            "the condition of the loop that it enters");
}

TEST(RaiseRefusals, EffectsOfAConditionWhoseValueTheBodyReads) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %v = VarHandleOp() dtype=int32 shape=() shared_name="v"
      %zero = Const() value=int32{0}
      %h = Enter(%v) frame_name="loop" is_constant=true : resource
      %enter = Enter(%zero) frame_name="loop" : int32
      %i = Merge(%enter, %next) : (int32, int32)
      %printed = Print(%i) : int32
      %three = Const(^%i) value=int32{3} : int32
      %less = Less(%printed, %three) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%printed, %cond) : (int32, int32)
      %add = AddV2(%switch:1, %switch:1) : int32
      %next = NextIteration(%add) : int32
      %exit = Exit(%switch) : int32
    })",
                       {{}, {"exit:0"}}),
            "the graph has no structured form: node printed (Print) acts or draws in its loop's "
            "condition, and its value is read in the body");
}

// Drawn again in the body, it would be another number.
TEST(RaiseRefusals, RandomNumbersOfAConditionThatTheBodyReads) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %shape = Const() value=int32[0]{}
      %zero = Const() value=float32{0}
      %shape_in = Enter(%shape) frame_name="loop" is_constant=true : int32
      %enter = Enter(%zero) frame_name="loop" : float32
      %x = Merge(%enter, %next) : (float32, int32)
      %draw = RandomUniform(%shape_in) dtype=float32 : float32
      %less = Less(%x, %draw) : bool
      %cond = LoopCond(%less) : bool
      %switch = Switch(%x, %cond) : (float32, float32)
      %drawn = Switch(%draw, %cond) : (float32, float32)
      %add = AddV2(%switch:1, %drawn:1) : float32
      %next = NextIteration(%add) : float32
      %exit = Exit(%switch) : float32
    })",
                       {{}, {"exit:0"}}),
            "the graph has no structured form: node draw (RandomUniform) acts or draws in its "
            "loop's condition, and its value is read in the body");
}

// As the graph says, it has the value of before the assignment.
TEST(RaiseRefusals, AFetchOfAReferenceThatASwitchHandsOn) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %v = VariableV2() dtype=float32 shape=()
      %p = Placeholder() dtype=bool shape=()
      %one = Const() value=float32{1}
      %switch = RefSwitch(%v, %p)
      %write = AssignAdd(%switch, %one)
      %merge = RefMerge(%write, %switch:1)
    })",
                       {{"p:0"}, {"switch:0", "merge:0"}}),
            "the graph has no structured form: node switch (RefSwitch) is asked for, but hands on "
            "a reference");
}

// Both always come. That the Merge waits for something else, too, makes no difference.
TEST(RaiseRefusals, AnIndexOfInputsThatBothCome) {
  for (const char* const merge : {"Merge(%b, %c)", "Merge(%b, %c, ^%a)"}) {
    EXPECT_EQ(RaisedText(absl::StrCat(R"(
      graph {
        %a = Const() value=float32{1.5}
        %b = Const() value=float32{7}
        %c = Const() value=float32{9}
        %m = )",
                                      merge, " : (float32, int32)\n}"),
                         {{}, {"m:0", "m:1"}}),
              "the graph has no structured form: node m (Merge) is asked which of its inputs came");
  }
}

TEST(RaiseRefusals, AFetchOfWhatRunsInALoop) {
  EXPECT_EQ(
      RaisedText(R"(
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
                 {{}, {"add:0"}}),
      "the graph has no structured form: node add (AddV2) is asked for, but runs within a loop");
}

}  // namespace
}  // namespace gyre::testing
