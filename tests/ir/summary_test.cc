#include "ir/text/summary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/branches.h"
#include "ir/calls.h"
#include "ir/parse.h"
#include "ir/text/dot.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::string_view kProgram = R"(
  graph {
    %x = Const() value=float32{1}
    %a = Enter(%x) frame_name="outer" parallel_iterations=4
    %b = Enter(%a) frame_name="inner"
    %c = Exit(%b)
    %d = Exit(%c)
    %loop = While(%d) cond=@more body=@step
  }
  func @more(%x: float32) -> (go: float32) { return %x }
  func @step(%x: float32) -> (x: float32) { %y = PartitionedCall(%x) f=@step Tout=[float32] return %y }
)";

TEST(Summary, CountsOpsLoopsAndFunctions) {
  EXPECT_EQ(PrintSummary(*Parse(kProgram)),
            R"(9 nodes (6 in the main graph), 2 functions
ops:
  2 Enter
  2 Exit
  2 _Arg
  1 Const
  1 PartitionedCall
  1 While
loops:
  graph: frame outer, 2 nodes, 0 variables, window 4, no LoopCond
    graph: frame inner, 1 node, 0 variables, window 10, no LoopCond
  graph: While loop, 1 variable, cond @more, body @step
functions:
  @more(float32) -> (float32), 1 node, 1 caller
  @step(float32) -> (float32), 2 nodes, 2 callers, recursive
)");
}

TEST(Summary, SaysWhyFramesMakeNoSense) {
  EXPECT_THAT(PrintSummary(*Parse("graph { %x = Const() value=float32{1} %y = Exit(%x) }")),
              HasSubstr("loops:\n  graph: Invalid Exit op"));
}

TEST(Dot, DrawsBoxesAndStyles) {
  const std::string dot = PrintDot(*Parse(kProgram));
  EXPECT_THAT(dot, HasSubstr("label=\"loop outer\""));
  EXPECT_THAT(dot, HasSubstr("label=\"loop inner\""));
  EXPECT_THAT(dot, HasSubstr("label=\"@step\""));
  EXPECT_THAT(dot, HasSubstr("style=dotted"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  const std::string branches = PrintDot(*Parse(R"(graph {
    %p = Placeholder() dtype=bool
    %x = Const() value=float32{1}
    %s = Switch(%x, %p)
    %t = Neg(%s:1)
    %m = Merge(%s, %t)
    %c = NoOp(^%m)
  })"));
  EXPECT_THAT(branches, HasSubstr("label=\"p is true\""));
  EXPECT_THAT(branches, HasSubstr("color=\"#e07000\", label=\"1\""));
  EXPECT_THAT(branches, HasSubstr("style=dashed, color=gray"));
}

TEST(Branches, NestAndMeetAtMerges) {
  const auto program = Parse(R"(graph {
    %p = Placeholder() dtype=bool
    %q = Placeholder() dtype=bool
    %x = Const() value=float32{1}
    %s = Switch(%x, %p)
    %t = Neg(%s:1)
    %r = Switch(%t, %q)
    %u = Neg(%r)
    %k = Const(^%u) value=float32{2}
    %m = Merge(%u, %r:1)
    %n = Merge(%m, %s)
    %y = Neg(%n)
  })");
  const BranchTable table = AnalyzeBranches(program->main());
  const auto branch = [&](absl::string_view name) {
    return table.branch_of_node[Id(program->main(), name)];
  };
  EXPECT_EQ(branch("s"), 0);
  EXPECT_EQ(table.branches[branch("t")].side, 1);
  EXPECT_EQ(table.branches[branch("t")].predicate.node, Id(program->main(), "p"));
  EXPECT_EQ(table.branches[branch("u")].parent, branch("t"));
  EXPECT_EQ(branch("k"), branch("u"));
  EXPECT_EQ(branch("m"), branch("t"));
  EXPECT_EQ(branch("y"), 0);
}

TEST(Calls, FindsRecursionThroughOthers) {
  const auto program = Parse(R"(
    graph { }
    func @even(%n: int32) -> (r: int32) { %r = PartitionedCall(%n) f=@odd Tout=[int32] return %r }
    func @odd(%n: int32) -> (r: int32) { %r = If(%n, %n) then_branch=@even else_branch=@leaf Tout=[int32] return %r }
    func @leaf(%n: int32) -> (r: int32) { return %n }
    func @user(%n: int32) -> (r: int32) { %r = PartitionedCall(%n) f=@even Tout=[int32] return %r }
    func @self(%n: int32) -> (r: int32) { %r = PartitionedCall(%n) f=@self Tout=[int32] return %r })");
  EXPECT_THAT(RecursiveFunctions(*program), ElementsAre("even", "odd", "self"));
  std::string chain = "graph { }";
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&chain, " func @f", i, "() -> () { %c = PartitionedCall() Tin=[] Tout=[] f=@f",
                    (i + 1) % 20000, " }");
  }
  EXPECT_EQ(RecursiveFunctions(*Parse(chain)).size(), 20000u) << "a deep chain costs no C++ stack";
}

TEST(Summary, MarksOpsThatNobodyHasRegistered) {
  EXPECT_THAT(PrintSummary(*Parse(R"(
    graph {
      %x = Const() value=float32{1}
      %y = Strange(%x)
      %z = f(%x)
    }
    func @f(%x: float32) -> (y: float32) {
      %y = Strange(%x)
      return %y
    })")),
              ::testing::AllOf(HasSubstr("  2 Strange, not registered\n"), HasSubstr("  1 Const\n"),
                               HasSubstr("  1 f\n")));
}

}  // namespace
}  // namespace gyre
