// Second derivatives through what a gradient adds to a program: tapes of branches and of calls,
// lists of loops.
#include "absl/strings/str_cat.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

// One branch keeps the list of a loop where the other keeps a number.
TEST(SecondOrder, OfBranchesThatKeepDifferentThings) {
  for (const bool loops : {true, false}) {
    ExpectGradient(R"(
graph {
  %x = Placeholder() shape=() : float64
  %loops = Placeholder() : bool
  %y = StatelessIf(%loops, %x) then_branch=@loop else_branch=@product : float64
}
func @loop(%x: float64) -> (y: float64) {
  %zero = Const() value=int32{0} : int32
  %y = StatelessWhile(%zero, %x) cond=@less body=@sin : (int32, float64)
  return %y:1
}
func @less(%i: int32, %x: float64) -> (less: bool) {
  %three = Const() value=int32{3} : int32
  %less = Less(%i, %three) : bool
  return %less
}
func @sin(%i: int32, %x: float64) -> (i: int32, x: float64) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32
  %sin = Sin(%x) : float64
  %square = Square(%sin) : float64
  return %next, %square
}
func @product(%x: float64) -> (y: float64) {
  %sin = Sin(%x) : float64
  %exp = Exp(%sin) : float64
  %y = Mul(%sin, %exp) : float64
  return %y
}
)",
                   {{"x", Tensor::Scalar(0.7)}, {"loops", Tensor::Scalar(loops)}}, {"x"}, "y");
  }
}

// One branch keeps what its gradient depends on smoothly, the other only what it compares.
TEST(SecondOrder, OfABranchWhoseGradientDoesNotDependOnWhatItKeeps) {
  for (const bool squares : {true, false}) {
    ExpectGradient(
        R"(
graph {
  %x = Placeholder() shape=(3) : float64
  %squares = Placeholder() : bool
  %z = StatelessIf(%squares, %x) then_branch=@square else_branch=@maximum : float64
  %y = Exp(%z) : float64
}
func @square(%x: float64) -> (y: float64) {
  %sin = Sin(%x) : float64
  %y = Mul(%sin, %sin) : float64
  return %y
}
func @maximum(%x: float64) -> (y: float64) {
  %half = Const() value=float64{0.5} : float64
  %a = Mul(%x, %half) : float64
  %y = Maximum(%a, %x) : float64
  return %y
}
)",
        {{"x", Tensor::Vector<double>({0.7, -0.4, 0.2})}, {"squares", Tensor::Scalar(squares)}},
        {"x"}, "y");
  }
}

// f(n, x, list) = n > 0 ? f(n - 1, sin x * x, list + x) : list
constexpr char kListRecursion[] = R"(
func @f(%n: int32, %x: float64, %list: variant) -> (list: variant) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %result = StatelessIf(%more, %n, %x, %list) then_branch=@deeper else_branch=@end : variant
  return %result
}
func @deeper(%n: int32, %x: float64, %list: variant) -> (list: variant) {
  %one = Const() value=int32{1} : int32
  %less = Sub(%n, %one) : int32
  %sin = Sin(%x) : float64
  %next = Mul(%sin, %x) : float64
  %longer = TensorListPushBack(%list, %x) : variant
  %result = PartitionedCall(%less, %next, %longer) f=@f : variant
  return %result
}
func @end(%n: int32, %x: float64, %list: variant) -> (list: variant) {
  return %list
}
)";

TEST(SecondOrder, OfARecursionThatReturnsAList) {
  for (const int depth : {0, 1, 4}) {
    ExpectGradient(absl::StrCat(R"(
graph {
  %x = Placeholder() shape=() : float64
  %n = Placeholder() : int32
  %scalar = Const() value=int32[0]{} : int32
  %any = Const() value=int32{-1} : int32
  %empty = EmptyTensorList(%scalar, %any) element_dtype=float64 : variant
  %one = TensorListPushBack(%empty, %x) : variant
  %list = PartitionedCall(%n, %x, %one) f=@f : variant
  %all = TensorListStack(%list, %scalar) element_dtype=float64 : float64
  %y = Exp(%all) : float64
}
)",
                                kListRecursion),
                   {{"x", Tensor::Scalar(0.8)}, {"n", Tensor::Scalar(depth)}}, {"x"}, "y");
  }
}

// f(n, x) = n > 0 ? (x > 1/2 ? f(n - 1, x²) : f(n - 1, max(x, sin x))) : x², kept in tapes of
// tapes.
TEST(SecondOrder, OfARecursionWithBranchesInside) {
  for (const double x : {0.9, 0.3}) {
    ExpectGradient(R"(
graph {
  %x = Placeholder() shape=() : float64
  %n = Const() value=int32{3} : int32
  %y = PartitionedCall(%n, %x) f=@f : float64
}
func @f(%n: int32, %x: float64) -> (y: float64) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %y = StatelessIf(%more, %n, %x) then_branch=@deeper else_branch=@square : float64
  return %y
}
func @deeper(%n: int32, %x: float64) -> (y: float64) {
  %one = Const() value=int32{1} : int32
  %half = Const() value=float64{0.5} : float64
  %less = Sub(%n, %one) : int32
  %large = Greater(%x, %half) : bool
  %next = StatelessIf(%large, %less, %x) then_branch=@square else_branch=@maximum : float64
  %y = PartitionedCall(%less, %next) f=@f : float64
  return %y
}
func @square(%n: int32, %x: float64) -> (y: float64) {
  %cos = Cos(%x) : float64
  %y = Mul(%x, %cos) : float64
  return %y
}
func @maximum(%n: int32, %x: float64) -> (y: float64) {
  %sin = Sin(%x) : float64
  %y = Maximum(%sin, %x) : float64
  return %y
}
)",
                   {{"x", Tensor::Scalar(x)}}, {"x"}, "y");
  }
}

}  // namespace
}  // namespace gyre::testing
