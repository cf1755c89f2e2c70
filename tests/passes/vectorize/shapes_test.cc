// Vectorised shapes and what moves axes about: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeShapes, AShapeIsThatOfARow) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %y: float32[?]) -> (a: int32, b: int32, c: int64) {
      %a = Shape(%x)
      %b = Rank(%x)
      %c = Size(%x) out_type=int64
      return %a, %b, %c
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2,3], %y: float32[?], %rows: int32[]) -> (a: int32, b: int32, c: int64) {
  %a/Const = Const() value=int32[2]{2, 3} : int32
  %b/Const = Const() value=int32{2} : int32
  %c/Const = Const() value=int32[2]{2, 3} : int32
  %c/Cast = Cast(%c/Const) : int64
  %c/Const_1 = Const() value=int32[1]{0} : int32
  %c/Prod = Prod(%c/Cast, %c/Const_1) : int64
  %Const_3 = Const() value=int32[2]{5, 2} : int32
  %BroadcastTo = BroadcastTo(%a/Const, %Const_3) : int32
  %Const_6 = Const() value=int32[1]{5} : int32
  %BroadcastTo_1 = BroadcastTo(%b/Const, %Const_6) : int32
  %Const_9 = Const() value=int32[1]{5} : int32
  %BroadcastTo_2 = BroadcastTo(%c/Prod, %Const_9) : int64
  return %BroadcastTo, %BroadcastTo_1, %BroadcastTo_2
}
)");
}

TEST(VectorizeShapes, AnUnknownShapeIsReadBehindTheRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[?,3]) -> (y: float32) {
      %dims = Shape(%x)
      %ones = Fill(%dims, %one)
      %one = Const() value=float32{1}
      %y = Mul(%x, %ones)
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,?,3], %rows: int32[]) -> (y: float32) {
  %dims/Shape = Shape(%x) : int32
  %dims/Const = Const() value=int32[1]{1} : int32
  %dims/Const_1 = Const() value=int32[1]{0} : int32
  %dims/Const_2 = Const() value=int32[1]{1} : int32
  %dims/StridedSlice = StridedSlice(%dims/Shape, %dims/Const, %dims/Const_1, %dims/Const_2) end_mask=1 : int32
  %one = Const() value=float32{1} : float32
  %ones = Fill(%dims/StridedSlice, %one) : float32
  %y = Mul(%x, %ones) : float32
  return %y
}
)");
}

TEST(VectorizeShapes, ReshapeLeavesNothingToBeInferred) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %y: float32[?]) -> (a: float32) {
      %shape = Const() value=int32[2]{3, -1}
      %a = Reshape(%x, %shape)
      return %a
    })",
                    1),
            R"(
func @rows(%x: float32[?,2,3], %y: float32[?], %rows: int32[]) -> (a: float32) {
  %a/Const = Const() value=int32[2]{3, 2} : int32
  %a/Const_1 = Const() value=int32{0} : int32
  %a/ExpandDims = ExpandDims(%rows, %a/Const_1) : int32
  %a/Const_2 = Const() value=int32{0} : int32
  %a/ConcatV2 = ConcatV2(%a/ExpandDims, %a/Const, %a/Const_2) : int32
  %a = Reshape(%x, %a/ConcatV2) : float32
  return %a
}
)");
}

TEST(VectorizeShapes, ReshapeOfUnknownSizesComputesWhatIsLeftOpen) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[?,3]) -> (a: float32) {
      %shape = Const() value=int32[1]{-1}
      %a = Reshape(%x, %shape)
      return %a
    })",
                    1),
            R"(
func @rows(%x: float32[?,?,3], %rows: int32[]) -> (a: float32) {
  %shape = Const() value=int32[1]{-1} : int32
  %a/Const = Const() value=int32[1]{0} : int32
  %a/Shape = Shape(%x) : int32
  %a/Const_1 = Const() value=int32[1]{1} : int32
  %a/Const_2 = Const() value=int32[1]{0} : int32
  %a/Const_3 = Const() value=int32[1]{1} : int32
  %a/StridedSlice = StridedSlice(%a/Shape, %a/Const_1, %a/Const_2, %a/Const_3) end_mask=1 : int32
  %a/Prod = Prod(%a/StridedSlice, %a/Const) : int32
  %a/Prod_1 = Prod(%shape, %a/Const) : int32
  %a/Neg = Neg(%a/Prod_1) : int32
  %a/Const_4 = Const() value=int32{1} : int32
  %a/Maximum = Maximum(%a/Neg, %a/Const_4) : int32
  %a/FloorDiv = FloorDiv(%a/Prod, %a/Maximum) : int32
  %a/Const_5 = Const() value=int32{0} : int32
  %a/Less = Less(%shape, %a/Const_5) : bool
  %a/SelectV2 = SelectV2(%a/Less, %a/FloorDiv, %shape) : int32
  %a/Const_6 = Const() value=int32{0} : int32
  %a/ExpandDims = ExpandDims(%rows, %a/Const_6) : int32
  %a/Const_7 = Const() value=int32{0} : int32
  %a/ConcatV2 = ConcatV2(%a/ExpandDims, %a/SelectV2, %a/Const_7) : int32
  %a = Reshape(%x, %a/ConcatV2) : float32
  return %a
}
)");
}

TEST(VectorizeShapes, AxesComeAndGoBehindTheRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[1,3]) -> (a: float32, b: float32, c: float32) {
      %zero = Const() value=int32{0}
      %a = ExpandDims(%x, %zero)
      %b = Squeeze(%x)
      %perm = Const() value=int32[2]{1, 0}
      %c = Transpose(%x, %perm)
      return %a, %b, %c
    })",
                    1),
            R"(
func @rows(%x: float32[?,1,3], %rows: int32[]) -> (a: float32, b: float32, c: float32) {
  %a/Const = Const() value=int32{1} : int32
  %a = ExpandDims(%x, %a/Const) : float32
  %b = Squeeze(%x) squeeze_dims=[1] : float32
  %c/Const_2 = Const() value=int32[3]{0, 2, 1} : int32
  %c = Transpose(%x, %c/Const_2) : float32
  return %a, %b, %c
}
)");
}

TEST(VectorizeShapes, JoiningAndSplitting) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,4], %w: float32[2,4]) -> (a: float32, b: float32, c: float32, d: float32) {
      %zero = Const() value=int32{0}
      %a = ConcatV2(%x, %w, %zero)
      %b = Pack(%x, %x) axis=1
      %c = Split(%zero, %x) num_split=2
      return %a, %b, %c, %c:1
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2,4], %w: float32[2,4], %rows: int32[]) -> (a: float32, b: float32, c: float32, d: float32) {
  %a/Const_2 = Const() value=int32[3]{5, 2, 4} : int32
  %a/BroadcastTo = BroadcastTo(%w, %a/Const_2) : float32
  %a/Const_3 = Const() value=int32{1} : int32
  %a = ConcatV2(%x, %a/BroadcastTo, %a/Const_3) : float32
  %b = Pack(%x, %x) axis=2 : float32
  %c/Const = Const() value=int32{1} : int32
  %c = Split(%c/Const, %x) : (float32, float32)
  return %a, %b, %c, %c:1
}
)");
}

TEST(VectorizeShapes, PadTileAndBroadcast) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2]) -> (a: float32, b: float32, c: float32) {
      %paddings = Const() value=int32[1,2]{1, 0}
      %a = Pad(%x, %paddings)
      %two = Const() value=int32[1]{2}
      %b = Tile(%x, %two)
      %dims = Const() value=int32[2]{3, 2}
      %c = BroadcastTo(%x, %dims)
      return %a, %b, %c
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2], %rows: int32[]) -> (a: float32, b: float32, c: float32) {
  %paddings = Const() value=int32[1,2]{1, 0} : int32
  %a/Const = Const() value=int32[2]{0 ...} : int32
  %a/Const_1 = Const() value=int32[2]{1, 2} : int32
  %a/Reshape = Reshape(%a/Const, %a/Const_1) : int32
  %a/Const_2 = Const() value=int32{0} : int32
  %a/ConcatV2 = ConcatV2(%a/Reshape, %paddings, %a/Const_2) : int32
  %a = Pad(%x, %a/ConcatV2) : float32
  %b/Const_1 = Const() value=int32[2]{1, 2} : int32
  %b = Tile(%x, %b/Const_1) : float32
  %c/Const = Const() value=int32{1} : int32
  %c/ExpandDims = ExpandDims(%x, %c/Const) : float32
  %c/Const_2 = Const() value=int32[3]{5, 3, 2} : int32
  %c = BroadcastTo(%c/ExpandDims, %c/Const_2) : float32
  return %a, %b, %c
}
)");
}

}  // namespace
}  // namespace gyre::testing
