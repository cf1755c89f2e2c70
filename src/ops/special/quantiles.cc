// Inverses of the error function and of the normal distribution.
#include <cmath>
#include <limits>

#include "ops/special/special_functions.h"

namespace gyre {
namespace {

// NaN for what is no probability.
struct NdtriFn {
  template <typename T>
  static T Apply(T x) {
    if (!(x >= 0 && x <= 1)) return std::numeric_limits<T>::quiet_NaN();
    return Eigen::numext::ndtri(x);
  }
};

struct ErfinvFn {
  template <typename T>
  static T Apply(T x) {
    const T y = NdtriFn::Apply((x + 1) / 2) * T(0.70710678118654752440);
    if (!(std::abs(x) < T(0.5))) return y;
    // x + 1 has lost digits of a small x: a step of Newton's brings them back.
    constexpr T kHalfRootPi = T(0.88622692545275801365);
    return y - (std::erf(y) - x) * kHalfRootPi * std::exp(y * y);
  }
};

template <typename T>
using NdtriKernel = Unary<NdtriFn, T>;
template <typename T>
using ErfinvKernel = Unary<ErfinvFn, T>;

void NdtriGradient(GradientContext& g) {
  const Expr density = g.op("Exp", {0.5 * g.op("Square", {g.output(0)})});
  g.Add(0, g.grad() * (2.50662827463100050242 * density));
}

void ErfinvGradient(GradientContext& g) {
  const Expr density = g.op("Exp", {g.op("Square", {g.output(0)})});
  g.Add(0, g.grad() * (0.88622692545275801365 * density));
}

}  // namespace

void RegisterQuantiles(OpRegistry& ops) {
  AddUnaryOp(ops, "Ndtri", {"math.ndtri"}, kFloatTypes,
             "The inverse of the cumulative distribution function of the normal distribution.",
             ForTypes<NdtriKernel, FloatTypes>("T"), {NdtriGradient});
  AddUnaryOp(ops, "Erfinv", {"math.erfinv"}, kFloatTypes, "The inverse of the error function.",
             ForTypes<ErfinvKernel, FloatTypes>("T"), {ErfinvGradient});
}

}  // namespace gyre
