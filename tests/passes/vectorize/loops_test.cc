// What becomes a loop over rows, and what is refused: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeLoops, WhatHasNoRuleRunsRowByRow) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[4], %w: float32[]) -> (y: float32) {
      %u = RandomShuffle(%x)
      %y = Mul(%u, %w)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,4], %w: float32[], %rows: int32[]) -> (y: float32) {
  stateful
  %u/Const = Const() value=int32{0} : int32
  %u/Const_1 = Const() value=int32[1]{4} : int32
  %u/TensorListReserve = TensorListReserve(%u/Const_1, %rows) element_dtype=float32 : variant
  %u/Const_2 = Const() value=int32[1]{4} : int32
  %u/TensorListFromTensor = TensorListFromTensor(%x, %u/Const_2) : variant
  %u/While = While(%u/Const, %rows, %u/TensorListReserve, %u/TensorListFromTensor) body=@rows_RandomShuffle_row cond=@rows_RandomShuffle_more_rows parallel_iterations=64 : (int32, int32, variant, variant)
  %u/Const_3 = Const() value=int32[1]{4} : int32
  %u/TensorListStack = TensorListStack(%u/While:2, %u/Const_3) : float32
  %y = Mul(%u/TensorListStack, %w) : float32
  return %y
}

func @rows_RandomShuffle_more_rows(%i: int32[], %rows: int32[], %state_2: variant[], %state_3: variant[]) -> (more: bool) {
  %Less = Less(%i, %rows) : bool
  return %Less
}

func @rows_RandomShuffle_row(%i: int32[], %rows: int32[], %state_2: variant[], %state_3: variant[]) -> (next_0: int32, next_1: int32, next_2: variant, next_3: variant) {
  stateful
  %u/Const = Const() value=int32[1]{4} : int32
  %u/TensorListGetItem = TensorListGetItem(%state_3, %i, %u/Const) : float32
  %u = RandomShuffle(%u/TensorListGetItem) : float32
  %u/Const_1 = Const() value=int32{1} : int32
  %u/AddV2 = AddV2(%i, %u/Const_1) : int32
  %u/TensorListSetItem = TensorListSetItem(%state_2, %i, %u) : variant
  return %u/AddV2, %rows, %u/TensorListSetItem, %state_3
}
loop: RandomShuffle 'u': there is no rule for this op
)");
}

TEST(VectorizeRefused, ResultsThatMayBeOfAnotherSizeInEachRow) {
  EXPECT_EQ(
      AllRows(R"(
    func @row(%x: float32[4]) -> (y: float32) {
      %y = Unique(%x)
      return %y
    })",
              1),
      R"('y' (Unique) cannot be computed for all rows at once: there is no rule for this op; nor row by row: its results may be of another size in each row)");
}

TEST(VectorizeLoops, AConditionThatDiffersTakesALoopAroundTheConditional) {
  EXPECT_EQ(AllRows(R"(
    func @row(%p: bool[], %x: float32[4], %w: float32[]) -> (y: float32) {
      %n = Neg(%x)
      %y = StatelessIf(%p, %n, %w) then_branch=@then else_branch=@else : float32
      return %y
    }
    func @then(%x: float32, %w: float32) -> (y: float32) {
      return %x
    }
    func @else(%x: float32, %w: float32) -> (y: float32) {
      %y = Mul(%x, %w)
      return %y
    })",
                    2),
            R"(
func @rows(%p: bool[?], %x: float32[?,4], %w: float32[], %rows: int32[]) -> (y: float32) {
  %n = Neg(%x) : float32
  %y/Const = Const() value=int32{0} : int32
  %y/Const_1 = Const() value=int32[1]{4} : int32
  %y/TensorListReserve = TensorListReserve(%y/Const_1, %rows) element_dtype=float32 : variant
  %y/Const_2 = Const() value=int32[0]{} : int32
  %y/TensorListFromTensor = TensorListFromTensor(%p, %y/Const_2) : variant
  %y/Const_3 = Const() value=int32[1]{4} : int32
  %y/TensorListFromTensor_1 = TensorListFromTensor(%n, %y/Const_3) : variant
  %y/StatelessWhile = StatelessWhile(%y/Const, %rows, %y/TensorListReserve, %y/TensorListFromTensor, %y/TensorListFromTensor_1, %w) body=@rows_StatelessIf_row cond=@rows_StatelessIf_more_rows parallel_iterations=64 : (int32, int32, variant, variant, variant, float32)
  %y/Const_4 = Const() value=int32[1]{4} : int32
  %y/TensorListStack = TensorListStack(%y/StatelessWhile:2, %y/Const_4) : float32
  return %y/TensorListStack
}

func @rows_StatelessIf_more_rows(%i: int32[], %rows: int32[], %state_2: variant[], %state_3: variant[], %state_4: variant[], %state_5: float32[]) -> (more: bool) {
  %Less = Less(%i, %rows) : bool
  return %Less
}

func @rows_StatelessIf_row(%i: int32[], %rows: int32[], %state_2: variant[], %state_3: variant[], %state_4: variant[], %state_5: float32[]) -> (next_0: int32, next_1: int32, next_2: variant, next_3: variant, next_4: variant, next_5: float32) {
  %y/Const = Const() value=int32[0]{} : int32
  %y/TensorListGetItem = TensorListGetItem(%state_3, %i, %y/Const) : bool
  %y/Const_1 = Const() value=int32[1]{4} : int32
  %y/TensorListGetItem_1 = TensorListGetItem(%state_4, %i, %y/Const_1) : float32
  %y = StatelessIf(%y/TensorListGetItem, %y/TensorListGetItem_1, %state_5) else_branch=@else then_branch=@then : float32
  %y/Const_2 = Const() value=int32{1} : int32
  %y/AddV2 = AddV2(%i, %y/Const_2) : int32
  %y/TensorListSetItem = TensorListSetItem(%state_2, %i, %y) : variant
  return %y/AddV2, %rows, %y/TensorListSetItem, %state_3, %state_4, %state_5
}
loop: StatelessIf 'y': its condition differs from row to row
)");
}

TEST(VectorizeLoops, EffectsRunOncePerRow) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[], %v: resource) -> (y: float32) {
      %one = Const() value=float32{1}
      %add = AssignAddVariableOp(%v, %one)
      %y = ReadVariableOp(%v, ^%add) dtype=float32
      return %y, ^%add
    })",
                    1),
            R"(
func @rows(%x: float32[?], %v: resource, %rows: int32[]) -> (y: float32) {
  stateful
  %one = Const() value=float32{1} : float32
  %add/Const = Const() value=int32{0} : int32
  %add/While = While(%add/Const, %rows, %v, %one) body=@rows_AssignAddVariableOp_row cond=@rows_AssignAddVariableOp_more_rows parallel_iterations=64 : (int32, int32, resource, float32)
  %y = ReadVariableOp(%v, ^%add/While) : float32
  %Shape = Shape(%y) : int32
  %Const = Const() value=int32{0} : int32
  %ExpandDims = ExpandDims(%rows, %Const) : int32
  %Const_1 = Const() value=int32{0} : int32
  %ConcatV2 = ConcatV2(%ExpandDims, %Shape, %Const_1) : int32
  %BroadcastTo = BroadcastTo(%y, %ConcatV2) : float32
  return %BroadcastTo, ^%add/While
}

func @rows_AssignAddVariableOp_more_rows(%i: int32[], %rows: int32[], %state_2: resource, %state_3: float32[]) -> (more: bool) {
  %Less = Less(%i, %rows) : bool
  return %Less
}

func @rows_AssignAddVariableOp_row(%i: int32[], %rows: int32[], %state_2: resource, %state_3: float32[]) -> (next_0: int32, next_1: int32, next_2: resource, next_3: float32) {
  stateful
  %add = AssignAddVariableOp(%state_2, %state_3)
  %add/Const = Const() value=int32{1} : int32
  %add/AddV2 = AddV2(%i, %add/Const) : int32
  return %add/AddV2, %rows, %state_2, %state_3, ^%add
}
loop: AssignAddVariableOp 'add': there is no rule for this op
)");
}

TEST(VectorizeRefused, WithoutLoopsTheNodeIsNamed) {
  EXPECT_EQ(
      AllRows(R"(
    func @row(%p: bool[], %x: float32[4]) -> (y: float32) {
      %y = PartitionedCall(%p, %x) f=@f : float32
      return %y
    }
    func @f(%p: bool[], %x: float32[4]) -> (y: float32) {
      %y = Unique(%x)
      return %y
    })",
              2, {.fall_back = false}),
      R"('y' (Unique) cannot be computed for all rows at once: there is no rule for this op)");
}

TEST(VectorizeRefused, AResourceOfEachRow) {
  EXPECT_EQ(
      AllRows(R"(
    func @row(%x: float32[4]) -> (y: float32) {
      %max = Const() value=int32{8}
      %stack = StackV2(%max) elem_type=float32
      %y = StackPushV2(%stack, %x)
      return %y
    })",
              1),
      R"('stack' (StackV2) cannot be computed for all rows at once: there is no rule for this op; nor row by row: it makes a resource for each row)");
}

TEST(VectorizeRefused, AListForAllRowsThatARowWritesTo) {
  EXPECT_EQ(
      AllRows(R"(
    func @row(%x: float32[4], %list: variant) -> (y: int32) {
      %zero = Const() value=int32{0}
      %set = TensorListSetItem(%list, %zero, %x)
      %y = TensorListLength(%set)
      return %y
    })",
              1),
      R"('set' (TensorListSetItem) cannot be computed for all rows at once: what differs from row to row is put into a list that does not; nor row by row: it makes a variant for each row)");
}

TEST(VectorizeRefused, AChoiceBetweenListsForEachRow) {
  EXPECT_EQ(
      AllRows(R"(
    func @row(%c: bool[], %a: variant[], %b: variant[]) -> (n: int32) {
      %list = SelectV2(%c, %a, %b)
      %n = TensorListLength(%list)
      return %n
    })",
              1),
      R"('list' (SelectV2) cannot be computed for all rows at once: it makes a variant for each row; nor row by row: it makes a variant for each row)");
}

TEST(VectorizeRefused, MoreRowsThanInt32Counts) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[]) -> (y: float32) {
      %y = Neg(%x)
      return %y
    })",
                    1, {.num_rows = int64_t{1} << 40}),
            R"(1099511627776 rows are too many: they are counted in int32)");
}

}  // namespace
}  // namespace gyre::testing
