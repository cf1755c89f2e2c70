// The larger and the smaller of two numbers. NaN wins over any number; of two NaNs, and of zeros of
// either sign, x wins if it is NaN and y otherwise.
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

}  // namespace

void RegisterExtremum(OpRegistry& ops) {
  AddBinaryOp(ops, "Maximum", kOrderedTypes, "The larger of x and y; NaN if either is.",
              ForTypes<MaximumKernel, RealTypes>("T"));
  AddBinaryOp(ops, "Minimum", kOrderedTypes, "The smaller of x and y; NaN if either is.",
              ForTypes<MinimumKernel, RealTypes>("T"));
}

}  // namespace gyre
