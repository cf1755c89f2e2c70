// Vectorised random numbers and checks: text in, text out.
#include "passes/vectorize/text.h"

namespace gyre::testing {
namespace {

TEST(VectorizeRandom, RowsGetNumbersOfTheirOwn) {
  EXPECT_EQ(AllRows(R"(
    func @row(%x: float32[3]) -> (y: float32) {
      %dims = Const() value=int32[1]{3}
      %u = RandomUniform(%dims) dtype=float32 seed=7
      %y = Mul(%x, %u)
      return %y
    })",
                    1, {.num_rows = 5}),
            R"(
func @rows(%x: float32[5,3], %rows: int32[]) -> (y: float32) {
  stateful
  %u/Const_1 = Const() value=int32[2]{5, 3} : int32
  %u = RandomUniform(%u/Const_1) seed=7 : float32
  %y = Mul(%x, %u) : float32
  return %y
}
)");
}

TEST(VectorizeChecks, AnAssertionIsOfAllRows) {
  EXPECT_EQ(AllRows(R"(
    func @row(%c: bool[], %x: float32[3]) -> (y: float32) {
      %check = Assert(%c, %x)
      %y = Neg(%x, ^%check)
      return %y
    })",
                    1),
            R"(
func @rows(%c: bool[?], %x: float32[3], %rows: int32[]) -> (y: float32) {
  stateful
  %check/Const = Const() value=int32[1]{0} : int32
  %check/All = All(%c, %check/Const) : bool
  %check = Assert(%check/All, %x)
  %y = Neg(%x, ^%check) : float32
  %Const = Const() value=int32[1]{3} : int32
  %Const_1 = Const() value=int32{0} : int32
  %ExpandDims = ExpandDims(%rows, %Const_1) : int32
  %Const_2 = Const() value=int32{0} : int32
  %ConcatV2 = ConcatV2(%ExpandDims, %Const, %Const_2) : int32
  %BroadcastTo = BroadcastTo(%y, %ConcatV2) : float32
  return %BroadcastTo
}
)");
}

}  // namespace
}  // namespace gyre::testing
