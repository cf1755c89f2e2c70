// Effects keep their order, and what orders them: control edges, references, triggers.
#include "passes/raise/text.h"

namespace gyre::testing {
namespace {

// %old is read before the If starts, %after once it is over.
TEST(RaiseEffects, StayInTheirBranchInTheirOrder) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %old = ReadVariableOp(%v) dtype=float32
      %h = Switch(%v, %p)
      %two = Const() value=float32{2}
      %two_in = Switch(%two, %p)
      %assign = AssignVariableOp(%h:1, %two_in:1, ^%old) dtype=float32
      %read = ReadVariableOp(%h:1, ^%assign) dtype=float32
      %untouched = ReadVariableOp(%h) dtype=float32
      %y = Merge(%untouched, %read)
      %after = ReadVariableOp(%v, ^%y) dtype=float32
    })",
                       {{}, {"old:0", "y:0", "after:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %old = ReadVariableOp(%v) : float32
  %two = Const() value=float32{2} : float32
  %y = If(%p, %v, %two, ^%old) else_branch=@y/else then_branch=@y/then : float32
  %after = ReadVariableOp(%v, ^%y) : float32
}

func @y/else(%v: resource, %two: float32) -> (y: float32) {
  stateful
  %untouched = ReadVariableOp(%v) : float32
  return %untouched
}

func @y/then(%v: resource, %two: float32) -> (y: float32) {
  stateful
  %assign = AssignVariableOp(%v, %two)
  %read = ReadVariableOp(%v, ^%assign) : float32
  return %read, ^%assign
}
)");
}

// The variable is read where its reader fires.
TEST(RaiseEffects, AReferenceThatWaitsStaysOne) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %v = VariableV2() dtype=float32 shape=()
      %old = Identity(%v)
      %ref = RefSwitch(%v, %p, ^%old) : (float32&, float32&)
      %one = Const() value=float32{1}
      %add = AssignAdd(%ref:1, %one) : float32&
      %other = Identity(%ref)
      %new = Identity(%add)
      %y = Merge(%other, %new)
    })",
                       {{}, {"y:0", "old:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %v = VariableV2() shape=() : float32&
  %old = Identity(%v) : float32
  %ref = RefIdentity(%v, ^%old) : float32&
  %one = Const() value=float32{1} : float32
  %y = If(%p, %ref, %one) else_branch=@y/else then_branch=@y/then : float32
}

func @y/else(%ref: float32&, %one: float32) -> (y: float32) {
  %other = Identity(%ref) : float32
  return %other
}

func @y/then(%ref: float32&, %one: float32) -> (y: float32) {
  stateful
  %add = AssignAdd(%ref, %one) : float32&
  %new = Identity(%add) : float32
  return %new, ^%add
}
)");
}

TEST(RaiseEffects, ReferencesAreCapturedAsReferences) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %v = VariableV2() dtype=float32 shape=()
      %ref = RefSwitch(%v, %p) : (float32&, float32&)
      %one = Const() value=float32{1}
      %one_p = Switch(%one, %p)
      %add = AssignAdd(%ref:1, %one_p:1) : float32&
      %read = Identity(%v, ^%add2)
      %add2 = Identity(%y)
      %other = Identity(%ref)
      %new = Identity(%add)
      %y = Merge(%other, %new)
    })",
                       {{}, {"read:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %v = VariableV2() shape=() : float32&
  %one = Const() value=float32{1} : float32
  %y = If(%p, %v, %one) else_branch=@y/else then_branch=@y/then : float32
  %add2 = Identity(%y) : float32
  %read = Identity(%v, ^%add2) : float32
}

func @y/else(%v: float32&, %one: float32) -> (y: float32) {
  %other = Identity(%v) : float32
  return %other
}

func @y/then(%v: float32&, %one: float32) -> (y: float32) {
  stateful
  %add = AssignAdd(%v, %one) : float32&
  %new = Identity(%add) : float32
  return %new, ^%add
}
)");
}

// The If is over whether the assignment has run or not.
TEST(RaiseEffects, ATriggerWaitsForWhatMayNotRun) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %h = Switch(%v, %p)
      %two = Const(^%h) value=float32{2}
      %assign = AssignVariableOp(%h:1, %two) dtype=float32
      %trigger = ControlTrigger(^%assign)
      %after = ReadVariableOp(%v, ^%trigger) dtype=float32
    })",
                       {{}, {"after:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %two = Const(^%v) value=float32{2} : float32
  %assign/if = If(%p, %v, %two) else_branch=@assign/if/else then_branch=@assign/if/then
  %after = ReadVariableOp(%v, ^%assign/if) : float32
}

func @assign/if/else(%v: resource, %two: float32) -> () {
}

func @assign/if/then(%v: resource, %two: float32) -> () {
  stateful
  %assign = AssignVariableOp(%v, %two)
  return ^%assign
}
)");
}

}  // namespace
}  // namespace gyre::testing
