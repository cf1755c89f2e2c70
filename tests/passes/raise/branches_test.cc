// Switch and Merge as If and Case.
#include "passes/raise/text.h"

namespace gyre::testing {
namespace {

//    x ─ Switch ─┬─1── AddV2 ─┐
//                │      ╎     ├─ Merge
//          p     └─0── Neg ───┘
// The pivot and the copies of the predicate are gone; what came by which side is a result, too.
TEST(RaiseBranches, ASwitchAndAMergeAreAnIf) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %pivot = Switch(%p, %p)
      %pivot_true = Identity(%pivot:1)
      %id = Identity(%p)
      %one = Const(^%pivot_true) value=float32{1}
      %to_true = Switch(%x, %id)
      %add = AddV2(%to_true:1, %one)
      %to_false = Switch(%x, %id)
      %neg = Neg(%to_false)
      %y = Merge(%neg, %add)
    })",
                       {{}, {"y:0", "y:1"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %y = StatelessIf(%p, %x) else_branch=@y/else then_branch=@y/then : (float32, int32)
}

func @y/else(%x: float32) -> (y: float32, y_1: int32) {
  %neg = Neg(%x) : float32
  %Const = Const() value=int32{0} : int32
  return %neg, %Const
}

func @y/then(%x: float32) -> (y: float32, y_1: int32) {
  %one = Const() value=float32{1} : float32
  %add = AddV2(%x, %one) : float32
  %Const = Const() value=int32{1} : int32
  return %add, %Const
}
)");
}

// An index that is out of range takes the last branch, in both.
TEST(RaiseBranches, ASwitchNIsACase) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %i = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=float32
      %s = _SwitchN(%x, %i) num_outs=3 : (float32, float32, float32)
      %neg = Neg(%s:0)
      %square = Square(%s:1)
      %y = Merge(%neg, %square, %s:2)
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %i = Placeholder() shape=() : int32
  %x = Placeholder() : float32
  %y = StatelessCase(%i, %x) branches=[@y/branch_0, @y/branch_1, @y/branch_2] : float32
}

func @y/branch_0(%x: float32) -> (y: float32) {
  %neg = Neg(%x) : float32
  return %neg
}

func @y/branch_1(%x: float32) -> (y: float32) {
  %square = Square(%x) : float32
  return %square
}

func @y/branch_2(%x: float32) -> (y: float32) {
  return %x
}
)");
}

// What the inner conditional takes from outside passes through the outer one.
TEST(RaiseBranches, Nest) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %q = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %w = Placeholder() dtype=float32
      %x_p = Switch(%x, %p)
      %w_p = Switch(%w, %p)
      %q_p = Switch(%q, %p)
      %x_q = Switch(%x_p:1, %q_p:1)
      %w_q = Switch(%w_p:1, %q_p:1)
      %mul = Mul(%x_q:1, %w_q:1)
      %inner = Merge(%x_q, %mul)
      %neg = Neg(%x_p)
      %y = Merge(%neg, %inner)
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %q = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %w = Placeholder() : float32
  %y = StatelessIf(%p, %x, %q, %w) else_branch=@y/else then_branch=@y/then : float32
}

func @inner/else(%x: float32, %w: float32) -> (inner: float32) {
  return %x
}

func @inner/then(%x: float32, %w: float32) -> (inner: float32) {
  %mul = Mul(%x, %w) : float32
  return %mul
}

func @y/else(%x: float32, %q: bool, %w: float32) -> (y: float32) {
  %neg = Neg(%x) : float32
  return %neg
}

func @y/then(%x: float32, %q: bool, %w: float32) -> (y: float32) {
  %inner = StatelessIf(%q, %x, %w) else_branch=@inner/else then_branch=@inner/then : float32
  return %inner
}
)");
}

// %log stands between: one If cannot hold both Switches. %square is made in the first and read in
// the second; on the other side it has no value, and nobody asks for it.
TEST(RaiseBranches, OnePredicateInSeriesIsTwoIfs) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %s = Switch(%x, %p)
      %neg = Neg(%s)
      %square = Square(%s:1)
      %y = Merge(%neg, %square)
      %log = Log(%y)
      %t = Switch(%log, %p)
      %mul = Mul(%t:1, %square)
      %z = Merge(%t, %mul)
    })",
                       {{}, {"z:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %y = StatelessIf(%p, %x) else_branch=@y/else then_branch=@y/then : (float32, float32)
  %log = Log(%y:1) : float32
  %z = StatelessIf(%p, %log, %y) else_branch=@z/else then_branch=@z/then : float32
}

func @y/else(%x: float32) -> (square: float32, y: float32) {
  %neg = Neg(%x) : float32
  %FakeParam = FakeParam() shape=? : float32
  return %FakeParam, %neg
}

func @y/then(%x: float32) -> (square: float32, y: float32) {
  %square = Square(%x) : float32
  return %square, %square
}

func @z/else(%log: float32, %square: float32) -> (z: float32) {
  return %log
}

func @z/then(%log: float32, %square: float32) -> (z: float32) {
  %mul = Mul(%log, %square) : float32
  return %mul
}
)");
}

//    p, or else q:  x ─ Switch(p) ─┬─1─────────────────────┐
//                                  └─0─ Switch(q) ─┬─1─ Merge ─ Neg ─ Merge
//                                                  └─0────────────────┘
// %either says whether the first Merge is alive. It and the rest make up everything: %y always is.
TEST(RaiseBranches, PathsThatAreNotSidesOfOneChoiceGetOneOfTheirOwn) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %q = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %s = Switch(%x, %p)
      %t = Switch(%s, %q)
      %either = Merge(%s:1, %t:1)
      %neg = Neg(%either)
      %y = Merge(%neg, %t)
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %q = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %either = StatelessIf(%p, %q) else_branch=@either/else then_branch=@either/then : bool
  %y = StatelessIf(%either, %x, %p) else_branch=@y/else then_branch=@y/then : float32
}

func @either/else(%q: bool) -> (either: bool) {
  return %q
}

func @either/else_1(%x: float32) -> (either: float32) {
  return %x
}

func @either/then(%q: bool) -> (either: bool) {
  %Const = Const() value=bool{true} : bool
  return %Const
}

func @either/then_1(%x: float32) -> (either: float32) {
  return %x
}

func @y/else(%x: float32, %p: bool) -> (y: float32) {
  return %x
}

func @y/then(%x: float32, %p: bool) -> (y: float32) {
  %either = StatelessIf(%p, %x) else_branch=@either/else_1 then_branch=@either/then_1 : float32
  %neg = Neg(%either) : float32
  return %neg
}
)");
}

// As it did: the run says which tensor has no value.
TEST(RaiseBranches, AFetchFromOnePathFailsOnTheOther) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %s = Switch(%x, %p)
      %neg = Neg(%s)
    })",
                       {{}, {"neg:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %neg = StatelessIf(%p, %x) else_branch=@neg/else then_branch=@neg/then : (float32, bool)
  %Const = Const() value=string{"neg does not have a value: it is on a path that was not taken"} : string
  %Assert = Assert(%neg:1, %Const)
  %neg/alive = Identity(%neg, ^%Assert) : float32
}

func @neg/else(%x: float32) -> (neg: float32, neg_1: bool) {
  %neg = Neg(%x) : float32
  %Const = Const() value=bool{true} : bool
  return %neg, %Const
}

func @neg/then(%x: float32) -> (neg: float32, neg_1: bool) {
  %FakeParam = FakeParam() shape=? : float32
  %Const = Const() value=bool{false} : bool
  return %FakeParam, %Const
}
)");
}

TEST(RaiseBranches, ATargetOnOnePathIsTheIf) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %s = Switch(%x, %p)
      %only_true = NoOp(^%id)
      %id = Identity(%s:1)
    })",
                       {{}, {}, {"only_true"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %only_true/if = StatelessIf(%p) else_branch=@only_true/if/else then_branch=@only_true/if/then
}

func @only_true/if/else() -> () {
}

func @only_true/if/then() -> () {
  %only_true = NoOp()
}
)");
}

TEST(RaiseBranches, FunctionsOfPrimitivesAreRaisedToo) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %y = PartitionedCall(%p, %x) f=@old : float32
    }
    func @old(%p: bool, %x: float32) -> (y: float32) {
      %s = Switch(%x, %p) : (float32, float32)
      %neg = Neg(%s) : float32
      %y = Merge(%neg, %s:1) : (float32, int32)
      return %y
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %p = Placeholder() shape=() : bool
  %x = Placeholder() : float32
  %y = PartitionedCall(%p, %x) f=@old : float32
}

func @old(%p: bool, %x: float32) -> (y: float32) {
  %y = StatelessIf(%p, %x) else_branch=@y/else then_branch=@y/then : float32
  return %y
}

func @y/else(%x: float32) -> (y: float32) {
  %neg = Neg(%x) : float32
  return %neg
}

func @y/then(%x: float32) -> (y: float32) {
  return %x
}
)");
}

//   i == 0 ? -x : i == 1 ? x² : i == 2 ? x + i : x
TEST(RaiseBranches, AChainOfComparisonsIsACase) {
  EXPECT_EQ(RaisedText(R"(
    graph {
      %i = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=float32
      %zero = Const() value=int32{0}
      %is_0 = Equal(%i, %zero)
      %x_0 = Switch(%x, %is_0)
      %i_0 = Switch(%i, %is_0)
      %neg = Neg(%x_0:1)
      %in_0 = Identity(%i_0)
      %one = Const(^%in_0) value=int32{1}
      %is_1 = Equal(%i_0, %one)
      %x_1 = Switch(%x_0, %is_1)
      %i_1 = Switch(%i_0, %is_1)
      %square = Square(%x_1:1)
      %in_1 = Identity(%i_1)
      %two = Const(^%in_1) value=int32{2}
      %is_2 = Equal(%two, %i_1)
      %x_2 = Switch(%x_1, %is_2)
      %i_2 = Switch(%i_1, %is_2)
      %cast = Cast(%i_2:1) DstT=float32
      %add = AddV2(%x_2:1, %cast)
      %last = Merge(%x_2, %add)
      %middle = Merge(%last, %square)
      %y = Merge(%middle, %neg)
    })",
                       {{}, {"y:0"}}),
            R"(
graph {
  %i = Placeholder() shape=() : int32
  %x = Placeholder() : float32
  %zero = Const() value=int32{0} : int32
  %is_0 = Equal(%i, %zero) : bool
  %y = StatelessCase(%i, %i, %x) branches=[@y/branch_0, @y/branch_1, @y/branch_2, @y/branch_3] : float32
}

func @y/branch_0(%i: int32, %x: float32) -> (y: float32) {
  %neg = Neg(%x) : float32
  return %neg
}

func @y/branch_1(%i: int32, %x: float32) -> (middle: float32) {
  %square = Square(%x) : float32
  return %square
}

func @y/branch_2(%i: int32, %x: float32) -> (last: float32) {
  %cast = Cast(%i) : float32
  %add = AddV2(%x, %cast) : float32
  return %add
}

func @y/branch_3(%i: int32, %x: float32) -> (last: float32) {
  return %x
}
)");
}

// Who holds on to a tensor of the old graph finds it in the new one, if it is there whatever
// happens.
TEST(RaiseBranches, TensorsOfTheOldGraphAreFound) {
  const std::string text = R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %before = Square(%x)
      %s = Switch(%before, %p)
      %neg = Neg(%s)
      %y = Merge(%neg, %s:1)
      %after = Square(%y)
    })";
  const auto old_main = Parse(text)->main_ptr();
  const auto raised = RaiseProgram(text, {{}, {"after:0"}});
  ASSERT_TRUE(raised.ok()) << raised.status();
  const Function& main = raised->program->main();
  const auto name_now = [&](const std::string& node, int slot) -> std::string {
    const auto found = raised->values.find({old_main->FindNode(node)->id, slot});
    return found == raised->values.end() ? "gone" : main.EndpointName(found->second);
  };
  EXPECT_EQ(name_now("before", 0), "before");
  EXPECT_EQ(name_now("y", 0), "y");
  EXPECT_EQ(name_now("after", 0), "after");
  EXPECT_EQ(name_now("neg", 0), "gone") << "it is there on one path only";
}

}  // namespace
}  // namespace gyre::testing
