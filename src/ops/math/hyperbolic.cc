// Inverses of the hyperbolic functions (these themselves are in exponential.cc).
#include <cmath>
#include <complex>

#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct AsinhFn {
  template <typename T>
  static T Apply(T x) {
    return std::asinh(x);
  }
};

struct AcoshFn {
  template <typename T>
  static T Apply(T x) {
    return std::acosh(x);
  }
};

struct AtanhFn {
  template <typename T>
  static T Apply(T x) {
    return std::atanh(x);
  }
};

template <typename T>
using AsinhKernel = Unary<AsinhFn, T>;
template <typename T>
using AcoshKernel = Unary<AcoshFn, T>;
template <typename T>
using AtanhKernel = Unary<AtanhFn, T>;

// The derivatives of y = asinh(x) and acosh(x) are 1 / cosh(y) and 1 / sinh(y): unlike x², these
// do not overflow where y is a number.
void AsinhGradient(GradientContext& g) { g.Add(0, g.grad() / g.op("Cosh", {Conj(g.output(0))})); }

void AcoshGradient(GradientContext& g) { g.Add(0, g.grad() / g.op("Sinh", {Conj(g.output(0))})); }

void AtanhGradient(GradientContext& g) {
  g.Add(0, g.grad() / (1.0 - g.op("Square", {Conj(g.input(0))})));
}

}  // namespace

void RegisterHyperbolic(OpRegistry& ops) {
  AddUnaryOp(ops, "Asinh", {"math.asinh", "asinh"}, kFloatAndComplexTypes,
             "The inverse hyperbolic sine of x.", ForTypes<AsinhKernel, FloatAndComplexTypes>("T"),
             {AsinhGradient});
  AddUnaryOp(ops, "Acosh", {"math.acosh", "acosh"}, kFloatAndComplexTypes,
             "The inverse hyperbolic cosine of x, not negative; NaN below 1.",
             ForTypes<AcoshKernel, FloatAndComplexTypes>("T"), {AcoshGradient});
  AddUnaryOp(ops, "Atanh", {"math.atanh", "atanh"}, kFloatAndComplexTypes,
             "The inverse hyperbolic tangent of x; infinite at -1 and 1, NaN beyond.",
             ForTypes<AtanhKernel, FloatAndComplexTypes>("T"), {AtanhGradient});
}

}  // namespace gyre
