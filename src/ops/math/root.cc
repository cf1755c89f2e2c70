// Roots and reciprocals.
#include <cmath>
#include <complex>

#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct SqrtFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kSqrt;
  template <typename T>
  static T Apply(T x) {
    return std::sqrt(x);
  }
};

struct RsqrtFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kRsqrt;
  template <typename T>
  static T Apply(T x) {
    return T(1) / std::sqrt(x);
  }
};

struct ReciprocalFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kReciprocal;
  template <typename T>
  static T Apply(T x) {
    return T(1) / x;
  }
};

template <typename T>
using SqrtKernel = Unary<SqrtFn, T>;
template <typename T>
using RsqrtKernel = Unary<RsqrtFn, T>;
template <typename T>
using ReciprocalKernel = Unary<ReciprocalFn, T>;

}  // namespace

void RegisterRoot(OpRegistry& ops) {
  AddUnaryOp(ops, "Sqrt", {"math.sqrt", "sqrt"}, kFloatAndComplexTypes,
             "The square root of x; NaN if x < 0.", ForTypes<SqrtKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.op("SqrtGrad", {g.output(0), g.grad()})); }});
  AddUnaryOp(ops, "Rsqrt", {"math.rsqrt", "compat.v1.rsqrt"}, kFloatAndComplexTypes,
             "1 / the square root of x.", ForTypes<RsqrtKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.op("RsqrtGrad", {g.output(0), g.grad()})); }});
  AddUnaryOp(ops, "Reciprocal", {"math.reciprocal", "compat.v1.reciprocal"}, kSignedTypes,
             "1 / x, for floating-point and complex numbers.",
             ForTypes<ReciprocalKernel, FloatAndComplexTypes>("T"), {[](GradientContext& g) {
               g.Add(0, g.op("ReciprocalGrad", {g.output(0), g.grad()}));
             }});
}

}  // namespace gyre
