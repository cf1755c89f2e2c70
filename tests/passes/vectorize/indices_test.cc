// Vectorised slices, gathers and scatters: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeIndices, SlicesBeginWithAllRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[4,3]) -> (a: float32, b: float32) {
      %begin = Const() value=int32[2]{1, 0}
      %end = Const() value=int32[2]{2, 2}
      %strides = Const() value=int32[2]{1, 1}
      %a = StridedSlice(%x, %begin, %end, %strides) shrink_axis_mask=1 end_mask=2
      %b = Slice(%x, %begin, %end)
      return %a, %b
    })",
                    1),
            R"(
func @rows(%x: float32[?,4,3], %rows: int32[]) -> (a: float32, b: float32) {
  %a/Const_1 = Const() value=int32[3]{0, 1, 0} : int32
  %a/Const_3 = Const() value=int32[3]{0, 2, 2} : int32
  %a/Const_5 = Const() value=int32[3]{1 ...} : int32
  %a = StridedSlice(%x, %a/Const_1, %a/Const_3, %a/Const_5) begin_mask=1 end_mask=5 shrink_axis_mask=2 : float32
  %b/Const_1 = Const() value=int32[3]{0, 1, 0} : int32
  %b/Const_3 = Const() value=int32[3]{-1, 2, 2} : int32
  %b = Slice(%x, %b/Const_1, %b/Const_3) : float32
  return %a, %b
}
)");
}

TEST(VectorizeIndices, AnItemOfTheRowsOwnChoiceIsAGather) {
  EXPECT_EQ(AllRows(R"(
    func @row(%i: int32[1], %w: float32[4]) -> (a: float32) {
      %one = Const() value=int32[1]{1}
      %end = Add(%i, %one)
      %a = StridedSlice(%w, %i, %end, %one) shrink_axis_mask=1
      return %a
    })",
                    1),
            R"(
func @rows(%i: int32[?,1], %w: float32[4], %rows: int32[]) -> (a: float32) {
  %a/Squeeze = Squeeze(%i) squeeze_dims=[1] : int32
  %a/Const = Const() value=int32{4} : int32
  %a/AddV2 = AddV2(%a/Squeeze, %a/Const) : int32
  %a/Const_1 = Const() value=int32{0} : int32
  %a/Less = Less(%a/Squeeze, %a/Const_1) : bool
  %a/SelectV2 = SelectV2(%a/Less, %a/AddV2, %a/Squeeze) : int32
  %a/Const_2 = Const() value=int32{0} : int32
  %a = GatherV2(%w, %a/SelectV2, %a/Const_2) : float32
  return %a
}
)");
}

TEST(VectorizeIndices, GathersBatchWhatDiffers) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[4,3], %i: int32[2], %w: float32[4,3], %k: int32[2]) -> (a: float32, b: float32, c: float32, d: float32) {
      %one = Const() value=int32{1}
      %zero = Const() value=int32{0}
      %a = GatherV2(%x, %k, %one)
      %b = GatherV2(%w, %i, %zero)
      %c = GatherV2(%w, %i, %one)
      %d = GatherV2(%x, %i, %zero)
      return %a, %b, %c, %d
    })",
                    2),
            R"(
func @rows(%x: float32[?,4,3], %i: int32[?,2], %w: float32[4,3], %k: int32[2], %rows: int32[]) -> (a: float32, b: float32, c: float32, d: float32) {
  %a/Const = Const() value=int32{2} : int32
  %a = GatherV2(%x, %k, %a/Const) : float32
  %b/Const = Const() value=int32{0} : int32
  %b = GatherV2(%w, %i, %b/Const) : float32
  %c/Const = Const() value=int32{1} : int32
  %c/GatherV2 = GatherV2(%w, %i, %c/Const) : float32
  %c/Const_1 = Const() value=int32[3]{1, 0, 2} : int32
  %c = Transpose(%c/GatherV2, %c/Const_1) : float32
  %d/Const = Const() value=int32{1} : int32
  %d = GatherV2(%x, %i, %d/Const) batch_dims=1 : float32
  return %a, %b, %c, %d
}
)");
}

TEST(VectorizeIndices, ScattersKnowTheirRow) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2], %i: int32[2,1]) -> (a: float32) {
      %shape = Const() value=int32[1]{4}
      %a = ScatterNd(%i, %x, %shape)
      return %a
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2], %i: int32[2,1], %rows: int32[]) -> (a: float32) {
  %Const = Const() value=int32{5} : int32
  %a/Const_1 = Const() value=int32[2]{5, 4} : int32
  %a/Const_4 = Const() value=int32[3]{5, 2, 1} : int32
  %a/BroadcastTo = BroadcastTo(%i, %a/Const_4) : int32
  %a/Const_5 = Const() value=int32{0} : int32
  %a/Const_6 = Const() value=int32{1} : int32
  %a/Range = Range(%a/Const_5, %Const, %a/Const_6) : int32
  %a/Const_7 = Const() value=int32{1} : int32
  %a/ExpandDims = ExpandDims(%a/Range, %a/Const_7) : int32
  %a/Const_8 = Const() value=int32{1} : int32
  %a/ExpandDims_1 = ExpandDims(%a/ExpandDims, %a/Const_8) : int32
  %a/Const_11 = Const() value=int32[3]{5, 2, 1} : int32
  %a/BroadcastTo_1 = BroadcastTo(%a/ExpandDims_1, %a/Const_11) : int32
  %a/Const_12 = Const() value=int32{-1} : int32
  %a/ConcatV2 = ConcatV2(%a/BroadcastTo_1, %a/BroadcastTo, %a/Const_12) : int32
  %a = ScatterNd(%a/ConcatV2, %x, %a/Const_1) : float32
  return %a
}
)");
}

TEST(VectorizeIndices, EachRowHasSegmentsOfItsOwn) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[4], %ids: int32[4]) -> (a: float32) {
      %n = Const() value=int32{3}
      %a = UnsortedSegmentSum(%x, %ids, %n)
      return %a
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,4], %ids: int32[4], %rows: int32[]) -> (a: float32) {
  %Const = Const() value=int32{5} : int32
  %n = Const() value=int32{3} : int32
  %a/Const_2 = Const() value=int32[2]{5, 4} : int32
  %a/BroadcastTo = BroadcastTo(%ids, %a/Const_2) : int32
  %a/Mul = Mul(%n, %Const) : int32
  %a/Const_3 = Const() value=int32{0} : int32
  %a/Const_4 = Const() value=int32{1} : int32
  %a/Range = Range(%a/Const_3, %Const, %a/Const_4) : int32
  %a/Const_5 = Const() value=int32{1} : int32
  %a/ExpandDims = ExpandDims(%a/Range, %a/Const_5) : int32
  %a/Mul_1 = Mul(%a/ExpandDims, %n) : int32
  %a/AddV2 = AddV2(%a/BroadcastTo, %a/Mul_1) : int32
  %a/Less = Less(%a/BroadcastTo, %n) : bool
  %a/SelectV2 = SelectV2(%a/Less, %a/AddV2, %a/Mul) : int32
  %a/Const_6 = Const() value=int32{0} : int32
  %a/Less_1 = Less(%a/BroadcastTo, %a/Const_6) : bool
  %a/SelectV2_1 = SelectV2(%a/Less_1, %a/BroadcastTo, %a/SelectV2) : int32
  %a/UnsortedSegmentSum = UnsortedSegmentSum(%x, %a/SelectV2_1, %a/Mul) : float32
  %a/Const_9 = Const() value=int32[2]{5, 3} : int32
  %a = Reshape(%a/UnsortedSegmentSum, %a/Const_9) : float32
  return %a
}
)");
}

}  // namespace
}  // namespace gyre::testing
