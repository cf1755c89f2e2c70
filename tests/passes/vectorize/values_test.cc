// Vectorised values, elementwise ops and axes: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeValues, WhatIsTheSameForAllRowsIsComputedOnce) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %w: float32[3]) -> (y: float32) {
      %once = Exp(%w)
      %y = Mul(%x, %once)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %once = Exp(%w) : float32
  %y = Mul(%x, %once) : float32
  return %y
}
)");
}

TEST(VectorizeValues, AResultThatIsTheSameIsRepeated) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %w: float32[?]) -> (a: float32, b: float32) {
      return %w, %x
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %w: float32[?], %rows: int32[]) -> (a: float32, b: float32) {
  %Shape = Shape(%w) : int32
  %Const = Const() value=int32{0} : int32
  %ExpandDims = ExpandDims(%rows, %Const) : int32
  %Const_1 = Const() value=int32{0} : int32
  %ConcatV2 = ConcatV2(%ExpandDims, %Shape, %Const_1) : int32
  %BroadcastTo = BroadcastTo(%w, %ConcatV2) : float32
  return %BroadcastTo, %x
}
)");
}

TEST(VectorizeValues, WhatNobodyNeedsIsLeftOut) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3]) -> (y: float32) {
      %unused = RandomShuffle(%x)
      %y = Neg(%x)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %rows: int32[]) -> (y: float32) {
  %y = Neg(%x) : float32
  return %y
}
)");
}

TEST(VectorizeValues, AnOrderStays) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %v: resource) -> (y: float32) {
      %write = AssignVariableOp(%v, %w)
      %w = Const() value=float32{1}
      %y = Neg(%x, ^%write)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %v: resource, %rows: int32[]) -> (y: float32) {
  stateful
  %w = Const() value=float32{1} : float32
  %write/Const = Const() value=int32{0} : int32
  %write/While = While(%write/Const, %rows, %v, %w) body=@rows_AssignVariableOp_row cond=@rows_AssignVariableOp_more_rows parallel_iterations=64 : (int32, int32, resource, float32)
  %y = Neg(%x, ^%write/While) : float32
  return %y
}

func @rows_AssignVariableOp_more_rows(%i: int32[], %rows: int32[], %state_2: resource, %state_3: float32[]) -> (more: bool) {
  %Less = Less(%i, %rows) : bool
  return %Less
}

func @rows_AssignVariableOp_row(%i: int32[], %rows: int32[], %state_2: resource, %state_3: float32[]) -> (next_0: int32, next_1: int32, next_2: resource, next_3: float32) {
  stateful
  %write = AssignVariableOp(%state_2, %state_3)
  %write/Const = Const() value=int32{1} : int32
  %write/AddV2 = AddV2(%i, %write/Const) : int32
  return %write/AddV2, %rows, %state_2, %state_3, ^%write
}
loop: AssignVariableOp 'write': there is no rule for this op
)");
}

TEST(VectorizeElementwise, RowsOfFewerDimensionsGetOnes) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[4], %y: float32[2,3,4], %w: float32[3,4]) -> (a: float32, b: float32) {
      %a = Add(%x, %y)
      %b = Sub(%w, %x)
      return %a, %b
    })",
                    2),
            R"(
func @rows(%x: float32[?,4], %y: float32[?,2,3,4], %w: float32[3,4], %rows: int32[]) -> (a: float32, b: float32) {
  %a/Const = Const() value=int32{1} : int32
  %a/ExpandDims = ExpandDims(%x, %a/Const) : float32
  %a/Const_1 = Const() value=int32{1} : int32
  %a/ExpandDims_1 = ExpandDims(%a/ExpandDims, %a/Const_1) : float32
  %a = Add(%a/ExpandDims_1, %y) : float32
  %b/Const = Const() value=int32{1} : int32
  %b/ExpandDims = ExpandDims(%x, %b/Const) : float32
  %b = Sub(%w, %b/ExpandDims) : float32
  return %a, %b
}
)");
}

TEST(VectorizeElementwise, RanksThatAreNotKnownShowWhenItRuns) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32, %w: float32) -> (y: float32) {
      %y = Maximum(%x, %w)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32, %w: float32, %rows: int32[]) -> (y: float32) {
  %y/Shape = Shape(%x) : int32
  %y/Const = Const() value=int32[1]{1} : int32
  %y/Const_1 = Const() value=int32[1]{0} : int32
  %y/Const_2 = Const() value=int32[1]{1} : int32
  %y/StridedSlice = StridedSlice(%y/Shape, %y/Const, %y/Const_1, %y/Const_2) end_mask=1 : int32
  %y/Size = Size(%y/StridedSlice) : int32
  %y/Shape_1 = Shape(%w) : int32
  %y/Size_1 = Size(%y/Shape_1) : int32
  %y/Maximum = Maximum(%y/Size, %y/Size_1) : int32
  %y/Shape_2 = Shape(%x) : int32
  %y/Const_3 = Const() value=int32[1]{1} : int32
  %y/Const_4 = Const() value=int32[1]{0} : int32
  %y/Const_5 = Const() value=int32[1]{1} : int32
  %y/StridedSlice_1 = StridedSlice(%y/Shape_2, %y/Const_3, %y/Const_4, %y/Const_5) end_mask=1 : int32
  %y/Size_2 = Size(%y/StridedSlice_1) : int32
  %y/Sub = Sub(%y/Maximum, %y/Size_2) : int32
  %y/Const_6 = Const() value=int32{0} : int32
  %y/ExpandDims = ExpandDims(%y/Sub, %y/Const_6) : int32
  %y/Const_7 = Const() value=int32{1} : int32
  %y/Fill = Fill(%y/ExpandDims, %y/Const_7) : int32
  %y/Const_8 = Const() value=int32{0} : int32
  %y/ConcatV2 = ConcatV2(%y/Fill, %y/StridedSlice_1, %y/Const_8) : int32
  %y/Const_9 = Const() value=int32{0} : int32
  %y/ExpandDims_1 = ExpandDims(%rows, %y/Const_9) : int32
  %y/Const_10 = Const() value=int32{0} : int32
  %y/ConcatV2_1 = ConcatV2(%y/ExpandDims_1, %y/ConcatV2, %y/Const_10) : int32
  %y/Reshape = Reshape(%x, %y/ConcatV2_1) : float32
  %y = Maximum(%y/Reshape, %w) : float32
  return %y
}
)");
}

TEST(VectorizeElementwise, OpsThatDoNotBroadcastGetRowsOfBoth) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2], %w: float32[2]) -> (y: float32, z: float32) {
      %y = ReluGrad(%w, %x)
      %z = AddN(%x, %w)
      return %y, %z
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2], %w: float32[2], %rows: int32[]) -> (y: float32, z: float32) {
  %y/Const_2 = Const() value=int32[2]{5, 2} : int32
  %y/BroadcastTo = BroadcastTo(%w, %y/Const_2) : float32
  %y = ReluGrad(%y/BroadcastTo, %x) : float32
  %z/Const_2 = Const() value=int32[2]{5, 2} : int32
  %z/BroadcastTo = BroadcastTo(%w, %z/Const_2) : float32
  %z = AddN(%x, %z/BroadcastTo) : float32
  return %y, %z
}
)");
}

TEST(VectorizeElementwise, SelectTakesItsConditionForWholeRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%c: bool[], %x: float32[2], %y: float32[2]) -> (z: float32) {
      %z = Select(%c, %x, %y)
      return %z
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%c: bool[5], %x: float32[2], %y: float32[2], %rows: int32[]) -> (z: float32) {
  %z/Const = Const() value=int32{-1} : int32
  %z/ExpandDims = ExpandDims(%c, %z/Const) : bool
  %z/Const_3 = Const() value=int32[2]{5, 2} : int32
  %z/BroadcastTo = BroadcastTo(%x, %z/Const_3) : float32
  %z/Const_6 = Const() value=int32[2]{5, 2} : int32
  %z/BroadcastTo_1 = BroadcastTo(%y, %z/Const_6) : float32
  %z = SelectV2(%z/ExpandDims, %z/BroadcastTo, %z/BroadcastTo_1) : float32
  return %z
}
)");
}

TEST(VectorizeAxes, AxesFromTheFrontMoveOn) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3]) -> (a: float32, b: int64, c: float32) {
      %front = Const() value=int32[2]{0, -1}
      %one = Const() value=int32{1}
      %a = Sum(%x, %front)
      %b = ArgMax(%x, %one)
      %c = Cumsum(%x, %one)
      return %a, %b, %c
    })",
                    1),
            R"(
func @rows(%x: float32[?,2,3], %rows: int32[]) -> (a: float32, b: int64, c: float32) {
  %a/Const = Const() value=int32[2]{1, -1} : int32
  %a = Sum(%x, %a/Const) : float32
  %b/Const = Const() value=int32{2} : int32
  %b = ArgMax(%x, %b/Const) : int64
  %c/Const = Const() value=int32{2} : int32
  %c = Cumsum(%x, %c/Const) : float32
  return %a, %b, %c
}
)");
}

TEST(VectorizeAxes, AxesThatAreComputedMoveOnWhenItRuns) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %axis: int32[]) -> (a: float32) {
      %a = Max(%x, %axis) keep_dims=true
      return %a
    })",
                    1),
            R"(
func @rows(%x: float32[?,2,3], %axis: int32[], %rows: int32[]) -> (a: float32) {
  %a/Const = Const() value=int32{0} : int32
  %a/GreaterEqual = GreaterEqual(%axis, %a/Const) : bool
  %a/Cast = Cast(%a/GreaterEqual) : int32
  %a/AddV2 = AddV2(%axis, %a/Cast) : int32
  %a = Max(%x, %a/AddV2) keep_dims=true : float32
  return %a
}
)");
}

}  // namespace
}  // namespace gyre::testing
