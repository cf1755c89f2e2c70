// The larger and the smaller of two numbers. NaN wins over any number; of two NaNs, and of zeros of
// either sign, x wins if it is NaN and y otherwise.
#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

constexpr absl::string_view kOrderedTypes =
    "{bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}";

struct MaximumFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kMaximum;
  template <typename T>
  static T Apply(T x, T y) {
    return x > y || x != x ? x : y;
  }
};

struct MinimumFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kMinimum;
  template <typename T>
  static T Apply(T x, T y) {
    return x < y || x != x ? x : y;
  }
};

template <typename T>
using MaximumKernel = Binary<MaximumFn, T>;
template <typename T>
using MinimumKernel = Binary<MinimumFn, T>;

// `x_wins` compares x with y. Where neither is larger, x counts.
void ExtremumGradient(GradientContext& g, absl::string_view x_wins) {
  if (!g.wants(0) && !g.wants(1)) return;
  const Expr from_x = g.op(x_wins, {g.input(0), g.input(1)});
  const Expr zero = g.builder().Zero(g.output_dtype(0));
  if (g.wants(0)) g.AddBroadcast(0, Where(from_x, g.grad(), zero));
  if (g.wants(1)) g.AddBroadcast(1, Where(from_x, zero, g.grad()));
}

void MaximumGradient(GradientContext& g) { ExtremumGradient(g, "GreaterEqual"); }
void MinimumGradient(GradientContext& g) { ExtremumGradient(g, "LessEqual"); }

}  // namespace

void RegisterExtremum(OpRegistry& ops) {
  AddBinaryOp(ops, "Maximum", {"math.maximum", "maximum"}, kOrderedTypes,
              "The larger of x and y; NaN if either is.", ForTypes<MaximumKernel, RealTypes>("T"),
              {MaximumGradient});
  AddBinaryOp(ops, "Minimum", {"math.minimum", "minimum"}, kOrderedTypes,
              "The smaller of x and y; NaN if either is.", ForTypes<MinimumKernel, RealTypes>("T"),
              {MinimumGradient});
}

}  // namespace gyre
