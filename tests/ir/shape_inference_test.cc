#include "ir/shape_inference.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/parse.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Shapes {
 public:
  explicit Shapes(absl::string_view text, const ShapeOptions& options = {})
      : program_(Parse(text)) {
    absl::StatusOr<ShapeTable> table = InferShapes(*program_, options);
    EXPECT_TRUE(table.ok()) << table.status();
    if (table.ok()) table_ = *std::move(table);
  }

  // The shape of a value in the main graph, or in function `function`.
  std::string Of(absl::string_view node, int slot = 0, absl::string_view function = "") const {
    return Info(node, slot, function).shape.ToString();
  }
  const ValueInfo& Info(absl::string_view node, int slot = 0,
                        absl::string_view function = "") const {
    const Function& f = function.empty() ? program_->main() : *program_->FindFunction(function);
    return table_.Find(function)->at({Id(f, node), slot});
  }
  const ShapeTable& table() const { return table_; }

 private:
  std::shared_ptr<const Program> program_;
  ShapeTable table_;
};

TEST(InferShapes, FollowsTheOpsRules) {
  const Shapes s(R"(graph {
    %x = Placeholder() dtype=float32 shape=(?,3)
    %y = Const() value=float32[2,1]{1, 2}
    %sum = AddV2(%x, %y)
    %dims = Const() value=int32[2]{3, -1}
    %flat = Reshape(%sum, %dims)
  })");
  EXPECT_EQ(s.Of("sum"), "[2,3]");
  EXPECT_EQ(s.Of("flat"), "[3,2]");
}

TEST(InferShapes, ConstantsTravelThroughShapeArithmetic) {
  const Shapes s(R"(graph {
    %x = Placeholder() dtype=float32 shape=(?,3)
    %shape = Shape(%x) out_type=int32
    %same = Identity(%shape)
    %y = Placeholder() dtype=float32
    %z = Reshape(%y, %same)
  })");
  EXPECT_EQ(s.Of("z"), "[?,3]");
}

TEST(InferShapes, NamesTheNodeAndItsShapes) {
  const auto program = Parse(R"(graph {
    %a = Placeholder() dtype=float32 shape=(2,3)
    %b = Placeholder() dtype=float32 shape=(4,5)
    %culprit = AddV2(%a, %b)
  })");
  const absl::Status status = InferShapes(*program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("node culprit (AddV2) with input shapes [2,3], [4,5]: "));
  ShapeOptions fed;
  fed.fed[{Id(program->main(), "b"), 0}] = PartialShape(Dims{1, 3});
  const auto table = InferShapes(*program, fed);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->main.at({Id(program->main(), "culprit"), 0}).shape.ToString(), "[2,3]");
}

TEST(InferShapes, UnknownOpsAndWhatFollowsAreUnknown) {
  const Shapes s(R"(graph {
    %x = NoSuchOp() : float32
    %y = Neg(%x)
  })");
  EXPECT_EQ(s.Of("y"), "?");
}

// x = [x, y] concatenated, or left alone, in a loop of primitives.
std::string LoopOf(absl::string_view step) {
  return absl::StrCat(R"(graph {
    %x = Placeholder() dtype=float32 shape=(2,3)
    %p = Placeholder() dtype=bool shape=()
    %axis = Const() value=int32{0}
    %enter = Enter(%x) frame_name="loop"
    %go = Enter(%p) frame_name="loop" is_constant=true
    %k = Enter(%axis) frame_name="loop" is_constant=true
    %merge = Merge(%enter, %next) : (float32, int32)
    %cond = LoopCond(%go)
    %switch = Switch(%merge, %cond)
    %body = )",
                      step, R"(
    %next = NextIteration(%body)
    %exit = Exit(%switch)
  })");
}

TEST(InferShapes, LoopsWidenWhatChanges) {
  const Shapes same(LoopOf("Neg(%switch:1)"));
  EXPECT_EQ(same.Of("exit"), "[2,3]");
  EXPECT_EQ(same.Of("merge", 1), "[]");
  const Shapes grows(LoopOf("ConcatV2(%switch:1, %switch:1, %k)"));
  EXPECT_EQ(grows.Of("exit"), "[?,3]");
  const Shapes deepens(LoopOf("ExpandDims(%switch:1, %k)"));
  EXPECT_EQ(deepens.Of("exit"), "?");
}

TEST(InferShapes, WhileBodiesWiden) {
  const Shapes s(R"(
    graph {
      %n = Const() value=int32{0}
      %x = Placeholder() dtype=float32 shape=(2,3)
      %y = Placeholder() dtype=float32 shape=(4)
      %loop = While(%n, %x, %y) cond=@more body=@step
    }
    func @more(%i: int32, %x: float32, %y: float32) -> (go: bool) {
      %ten = Const() value=int32{10}
      %go = Less(%i, %ten)
      return %go
    }
    func @step(%i: int32, %x: float32, %y: float32) -> (i: int32, x: float32, y: float32) {
      %one = Const() value=int32{1}
      %next = AddV2(%i, %one)
      %zero = Const() value=int32{0}
      %grown = ConcatV2(%x, %x, %zero)
      return %next, %grown, %y
    })");
  EXPECT_EQ(s.Of("loop", 0), "[]");
  EXPECT_EQ(s.Of("loop", 1), "[?,3]");
  EXPECT_EQ(s.Of("loop", 2), "[4]");
  EXPECT_EQ(s.Of("grown", 0, "step"), "[?,3]");
  EXPECT_EQ(s.Of("go", 0, "more"), "[]");
  EXPECT_FALSE(s.Info("loop", 0).constant.has_value())
      << "the counter starts as a constant, but does not stay one";
}

TEST(InferShapes, BranchesJoin) {
  const Shapes s(R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=float32 shape=(2,3)
      %if = If(%p, %x) then_branch=@same else_branch=@double Tout=[float32]
      %some = Placeholder() dtype=float32 shape=(?,3)
      %told = If(%p, %some) then_branch=@same else_branch=@double Tout=[float32] output_shapes=[(9,?)]
    }
    func @same(%x: float32) -> (y: float32) { return %x }
    func @double(%x: float32) -> (y: float32) {
      %zero = Const() value=int32{0}
      %y = ConcatV2(%x, %x, %zero)
      return %y
    })");
  EXPECT_EQ(s.Of("if"), "[?,3]");
  EXPECT_EQ(s.Of("told"), "[9,3]");
}

TEST(InferShapes, BelievesNothingThatAProgramDeclaresWhereSomeOfItIsWrong) {
  const std::string text = R"(
    graph {
      %start = Const() value=int32{0}
      %x = Placeholder() dtype=float32
      %loop = While(%start, %x) cond=@less body=@add output_shapes=[(), (2)]
    }
    func @less(%i: int32[], %x: float32[2]) -> (go: bool) {
      %four = Const() value=int32{4}
      %go = Less(%i, %four)
      return %go
    }
    func @add(%i: int32[], %x: float32[2]) -> (j: int32, y: float32) {
      %more = Const() value=MORE
      %j = AddV2(%i, %more)
      return %j, %x
    })";
  const Shapes right(absl::StrReplaceAll(text, {{"MORE", "int32{1}"}}));
  EXPECT_EQ(right.Of("loop", 1), "[2]");
  EXPECT_EQ(right.Of("go", 0, "less"), "[]");
  const Shapes wrong(absl::StrReplaceAll(text, {{"MORE", "int32[0]{}"}}));
  EXPECT_EQ(wrong.Of("loop", 1), "?");
  EXPECT_EQ(wrong.Of("go", 0, "less"), "?");
}

TEST(InferShapes, EachCallHasItsOwnShapes) {
  const Shapes s(R"(
    graph {
      %a = Placeholder() dtype=float32 shape=(2)
      %b = Placeholder() dtype=float32 shape=(3)
      %fa = PartitionedCall(%a) f=@f Tout=[float32]
      %fb = PartitionedCall(%b) f=@f Tout=[float32]
    }
    func @f(%x: float32) -> (y: float32) { %y = Neg(%x) return %y }
    func @uncalled(%x: float32[7,7]) -> (y: float32) {
      %y = PartitionedCall(%x) f=@f Tout=[float32]
      return %y
    })");
  EXPECT_EQ(s.Of("fa"), "[2]");
  EXPECT_EQ(s.Of("fb"), "[3]");
  EXPECT_EQ(s.Of("y", 0, "f"), "[?]") << "over all calls of a run";
  EXPECT_EQ(s.Of("y", 0, "uncalled"), "[7,7]") << "as its signature promises";
}

TEST(InferShapes, RecursionReachesAFixedPoint) {
  const Shapes s(R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=float32 shape=(2,3)
      %same = PartitionedCall(%n, %x) f=@repeat Tout=[float32]
      %deeper = PartitionedCall(%n, %x) f=@deepen Tout=[float32]
      %never = PartitionedCall(%x) f=@forever Tout=[float32]
    }
    // repeat(n, x) = n == 0 ? x : repeat(n - 1, -x)
    func @repeat(%n: int32, %x: float32) -> (y: float32) {
      %r = If(%n, %n, %x) then_branch=@again else_branch=@done Tout=[float32]
      return %r
    }
    func @again(%n: int32, %x: float32) -> (y: float32) {
      %one = Const() value=int32{1}
      %m = Sub(%n, %one)
      %neg = Neg(%x)
      %r = PartitionedCall(%m, %neg) f=@repeat Tout=[float32]
      return %r
    }
    func @done(%n: int32, %x: float32) -> (y: float32) { return %x }
    // As repeat, with a dimension more at each call.
    func @deepen(%n: int32, %x: float32) -> (y: float32) {
      %r = If(%n, %n, %x) then_branch=@deeper else_branch=@done Tout=[float32]
      return %r
    }
    func @deeper(%n: int32, %x: float32) -> (y: float32) {
      %zero = Const() value=int32{0}
      %more = ExpandDims(%x, %zero)
      %r = PartitionedCall(%n, %more) f=@deepen Tout=[float32]
      return %r
    }
    func @forever(%x: float32) -> (y: float32) {
      %r = PartitionedCall(%x) f=@forever Tout=[float32]
      return %r
    })");
  EXPECT_EQ(s.Of("same"), "[2,3]");
  EXPECT_EQ(s.Of("deeper"), "?");
  EXPECT_EQ(s.Of("never"), "?");
}

TEST(InferShapes, WhatABranchCannotDoIsNoError) {
  const Shapes s(R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=float32 shape=(2)
      %y = Placeholder() dtype=float32 shape=(3)
      %if = If(%p, %x, %y) then_branch=@first else_branch=@sum Tout=[float32]
      %sx = Switch(%x, %p)
      %sy = Switch(%y, %p)
      %bad = AddV2(%sx:1, %sy:1)
      %m = Merge(%sx, %bad)
    }
    func @first(%x: float32, %y: float32) -> (z: float32) { return %x }
    func @sum(%x: float32, %y: float32) -> (z: float32) { %z = AddV2(%x, %y) return %z })");
  EXPECT_EQ(s.Of("if"), "[2]") << "the other branch never returns";
  EXPECT_EQ(s.Of("m"), "[2]");
  ASSERT_EQ(s.table().problems.size(), 2u);
  EXPECT_EQ(s.table().problems[0].function, "");
  EXPECT_EQ(s.table().problems[1].function, "sum");
  EXPECT_THAT(std::string(s.table().problems[1].status.message()),
              HasSubstr("function sum, node z (AddV2)"));
}

TEST(InferShapes, HandlesCarryTheTypeBehindThem) {
  const Shapes s(R"(
    graph {
      %v = VarHandleOp() dtype=float32 shape=(2,3)
      %read = PartitionedCall(%v) f=@read Tout=[float32]
    }
    func @read(%v: resource) -> (y: float32) {
      %y = ReadVariableOp(%v) dtype=float32
      return %y
    })");
  EXPECT_EQ(s.Of("read"), "[2,3]");
}

// Work, not time: a hang would be a time-out.
TEST(InferShapes, HostileProgramsEnd) {
  std::string text =
      "graph { %x = Placeholder() dtype=float32 shape=(2) %zero = Const() value=int32{0}"
      " %r = PartitionedCall(%x) f=@f0 Tout=[float32] }\n";
  constexpr int kFunctions = 200;
  for (int i = 0; i < kFunctions; ++i) {
    // Every function calls several others with an argument of one more dimension.
    absl::StrAppend(&text, "func @f", i,
                    "(%x: float32) -> (y: float32) { %zero = Const() value=int32{0}"
                    " %more = ExpandDims(%x, %zero)\n");
    for (int k = 1; k <= 5; ++k) {
      absl::StrAppend(&text, "%c", k, " = PartitionedCall(%more) f=@f",
                      (i * 7 + k * k) % kFunctions, " Tout=[float32]\n");
    }
    absl::StrAppend(&text, "%sum = AddN(%c1, %c2, %c3, %c4, %c5) return %sum }\n");
  }
  const Shapes s(text);
  EXPECT_EQ(s.Of("r"), "?");

  std::string chain = "graph { %x = Placeholder() dtype=float32 shape=(2) }\n";
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&chain, "func @f", i,
                    "(%x: float32) -> (y: float32) { %y = PartitionedCall(%x) f=@f", i + 1,
                    " Tout=[float32] return %y }\n");
  }
  const Shapes deep(chain);
  EXPECT_THAT(deep.table().problems, IsEmpty());
}

}  // namespace
}  // namespace gyre
