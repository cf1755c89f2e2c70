// Vectorised lists, conditionals, loops and calls: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeLists, OneListHoldsTheElementsOfAllRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3]) -> (y: float32, n: int32) {
      %shape = Const() value=int32[1]{3}
      %two = Const() value=int32{2}
      %zero = Const() value=int32{0}
      %list = TensorListReserve(%shape, %two) element_dtype=float32
      %set = TensorListSetItem(%list, %zero, %x)
      %y = TensorListStack(%set, %shape) element_dtype=float32
      %n = TensorListLength(%set)
      return %y, %n
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,3], %rows: int32[]) -> (y: float32, n: int32) {
  %two = Const() value=int32{2} : int32
  %zero = Const() value=int32{0} : int32
  %list/Const_1 = Const() value=int32[2]{5, 3} : int32
  %list = TensorListReserve(%list/Const_1, %two) element_dtype=float32 : variant
  %set = TensorListSetItem(%list, %zero, %x) : variant
  %y/Const_1 = Const() value=int32[2]{5, 3} : int32
  %y/TensorListStack = TensorListStack(%set, %y/Const_1) : float32
  %y/Const_2 = Const() value=int32[3]{1, 0, 2} : int32
  %y/Transpose = Transpose(%y/TensorListStack, %y/Const_2) : float32
  %n = TensorListLength(%set) : int32
  %Const_3 = Const() value=int32[1]{5} : int32
  %BroadcastTo = BroadcastTo(%n, %Const_3) : int32
  return %y/Transpose, %BroadcastTo
}
)");
}

TEST(VectorizeSites, BranchesGetTheNumberOfRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %p: bool[], %w: float32[3]) -> (y: float32) {
      %y = StatelessIf(%p, %x, %w) then_branch=@then else_branch=@else : float32
      return %y
    }
    func @then(%x: float32, %w: float32) -> (y: float32) {
      %y = Mul(%x, %w)
      return %y
    }
    func @else(%x: float32, %w: float32) -> (y: float32) {
      return %w
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %p: bool[], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %y = StatelessIf(%p, %x, %w, %rows) else_branch=@else_rows_1 then_branch=@then_rows_1 : float32
  return %y
}

func @else_rows_1(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %Const = Const() value=int32[1]{3} : int32
  %Const_1 = Const() value=int32{0} : int32
  %ExpandDims = ExpandDims(%rows, %Const_1) : int32
  %Const_2 = Const() value=int32{0} : int32
  %ConcatV2 = ConcatV2(%ExpandDims, %Const, %Const_2) : int32
  %BroadcastTo = BroadcastTo(%w, %ConcatV2) : float32
  return %BroadcastTo
}

func @then_rows_1(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %y = Mul(%x, %w) : float32
  return %y
}
)");
}

TEST(VectorizeSites, StateThatComesToDifferIsStackedFromTheStart) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %w: float32[3]) -> (y: float32) {
      %zero = Const() value=int32{0}
      %loop = StatelessWhile(%zero, %w, %w, %x) cond=@more body=@step
      return %loop:1
    }
    func @more(%i: int32, %a: float32, %b: float32, %x: float32) -> (go: bool) {
      %limit = Const() value=int32{3}
      %go = Less(%i, %limit)
      return %go
    }
    func @step(%i: int32, %a: float32, %b: float32, %x: float32) -> (i: int32, a: float32, b: float32, x: float32) {
      %one = Const() value=int32{1}
      %next = Add(%i, %one)
      %sum = Add(%b, %x)
      return %next, %b, %sum, %x
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %loop/Const = Const() value=int32[1]{3} : int32
  %loop/Const_1 = Const() value=int32{0} : int32
  %loop/ExpandDims = ExpandDims(%rows, %loop/Const_1) : int32
  %loop/Const_2 = Const() value=int32{0} : int32
  %loop/ConcatV2 = ConcatV2(%loop/ExpandDims, %loop/Const, %loop/Const_2) : int32
  %loop/BroadcastTo = BroadcastTo(%w, %loop/ConcatV2) : float32
  %loop/Const_3 = Const() value=int32[1]{3} : int32
  %loop/Const_4 = Const() value=int32{0} : int32
  %loop/ExpandDims_1 = ExpandDims(%rows, %loop/Const_4) : int32
  %loop/Const_5 = Const() value=int32{0} : int32
  %loop/ConcatV2_1 = ConcatV2(%loop/ExpandDims_1, %loop/Const_3, %loop/Const_5) : int32
  %loop/BroadcastTo_1 = BroadcastTo(%w, %loop/ConcatV2_1) : float32
  %loop = StatelessWhile(%zero, %loop/BroadcastTo, %loop/BroadcastTo_1, %x, %rows) body=@step_rows_3 cond=@more_rows : (int32, float32, float32, float32, int32)
  return %loop:1
}

func @more_rows(%i: int32[], %a: float32[?,3], %b: float32[?,3], %x: float32[?,3], %rows: int32[]) -> (go: bool) {
  %limit = Const() value=int32{3} : int32
  %go = Less(%i, %limit) : bool
  return %go
}

func @step_rows_3(%i: int32[], %a: float32[?,3], %b: float32[?,3], %x: float32[?,3], %rows: int32[]) -> (i: int32, a: float32, b: float32, x: float32, rows: int32) {
  %one = Const() value=int32{1} : int32
  %next = Add(%i, %one) : int32
  %sum = Add(%b, %x) : float32
  return %next, %b, %sum, %x, %rows
}
)");
}

TEST(VectorizeSites, AFunctionIsVectorisedOncePerUse) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3], %w: float32[3]) -> (y: float32) {
      %a = PartitionedCall(%x, %w) f=@f : float32
      %b = PartitionedCall(%x, %w) f=@f : float32
      %c = PartitionedCall(%w, %w) f=@f : float32
      %y = AddN(%a, %b, %c)
      return %y
    }
    func @f(%x: float32, %w: float32) -> (y: float32) {
      %y = Mul(%x, %w)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %a = PartitionedCall(%x, %w, %rows) f=@f_rows : float32
  %b = PartitionedCall(%x, %w, %rows) f=@f_rows : float32
  %c = PartitionedCall(%w, %w) f=@f : float32
  %y/Const = Const() value=int32[1]{3} : int32
  %y/Const_1 = Const() value=int32{0} : int32
  %y/ExpandDims = ExpandDims(%rows, %y/Const_1) : int32
  %y/Const_2 = Const() value=int32{0} : int32
  %y/ConcatV2 = ConcatV2(%y/ExpandDims, %y/Const, %y/Const_2) : int32
  %y/BroadcastTo = BroadcastTo(%c, %y/ConcatV2) : float32
  %y = AddN(%a, %b, %y/BroadcastTo) : float32
  return %y
}

func @f_rows(%x: float32[?,3], %w: float32[3], %rows: int32[]) -> (y: float32) {
  %y = Mul(%x, %w) : float32
  return %y
}
)");
}

}  // namespace
}  // namespace gyre::testing
