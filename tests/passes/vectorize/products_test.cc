// Vectorised products: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeProducts, OneMatrixForAllRowsMultipliesThemInOneProduct) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %w: float32[3,4]) -> (y: float32) {
      %y = MatMul(%x, %w)
      return %y
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,2,3], %w: float32[3,4], %rows: int32[]) -> (y: float32) {
  %y/Const = Const() value=int32[2]{-1, 3} : int32
  %y/Reshape = Reshape(%x, %y/Const) : float32
  %y/MatMul = MatMul(%y/Reshape, %w) : float32
  %y/Const_3 = Const() value=int32[3]{5, 2, 4} : int32
  %y = Reshape(%y/MatMul, %y/Const_3) : float32
  return %y
}
)");
}

TEST(VectorizeProducts, MatricesThatDifferAreABatch) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %z: float32[4,3], %w: float32[5,2]) -> (a: float32, b: float32) {
      %a = MatMul(%x, %z) transpose_b=true
      %b = MatMul(%w, %x)
      return %a, %b
    })",
                    2),
            R"(
func @rows(%x: float32[?,2,3], %z: float32[?,4,3], %w: float32[5,2], %rows: int32[]) -> (a: float32, b: float32) {
  %a/BatchMatMulV2 = BatchMatMulV2(%x, %z) adj_y=true : float32
  %b/BatchMatMulV2 = BatchMatMulV2(%w, %x) : float32
  return %a/BatchMatMulV2, %b/BatchMatMulV2
}
)");
}

TEST(VectorizeProducts, BatchesOfFewerDimensionsGetOnes) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %z: float32[4,3,2]) -> (a: float32) {
      %a = BatchMatMulV2(%x, %z)
      return %a
    })",
                    2),
            R"(
func @rows(%x: float32[?,2,3], %z: float32[?,4,3,2], %rows: int32[]) -> (a: float32) {
  %a/Const = Const() value=int32{1} : int32
  %a/ExpandDims = ExpandDims(%x, %a/Const) : float32
  %a = BatchMatMulV2(%a/ExpandDims, %z) : float32
  return %a
}
)");
}

TEST(VectorizeProducts, EinsumGetsALabelForTheRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[2,3], %w: float32[3,4]) -> (y: float32) {
      %y = Einsum(%x, %w) equation="ij,jA->iA"
      return %y
    })",
                    1),
            R"(
func @rows(%x: float32[?,2,3], %w: float32[3,4], %rows: int32[]) -> (y: float32) {
  %y = Einsum(%x, %w) equation="Bij,jA->BiA" : float32
  return %y
}
)");
}

}  // namespace
}  // namespace gyre::testing
