// The logarithm of the gamma function and its derivatives, and Hurwitz' zeta function.
#include <cmath>
#include <limits>

#include "ops/special/special_functions.h"

namespace gyre {
namespace {

struct LgammaFn {
  template <typename T>
  static T Apply(T x) {
    return Eigen::numext::lgamma(x);
  }
};

struct DigammaFn {
  template <typename T>
  static T Apply(T x) {
    return Eigen::numext::digamma(x);
  }
};

// Σ 1 / (q + n)^x.
struct ZetaFn {
  template <typename T>
  static T Apply(T x, T q) {
    constexpr T kManyTerms = 30;
    // Eigen asks whether x is even as a 64-bit number. All numbers that are as large are.
    constexpr T kLarge = T(int64_t{1} << 62);
    if (q <= 0 && q == std::floor(q) && x >= kLarge) return std::numeric_limits<T>::infinity();
    const bool has_sum = q < -kManyTerms && q != std::floor(q) && x > 1 && x == std::floor(x);
    if (!has_sum) return Eigen::numext::zeta(x, q);
    // Eigen adds up the terms of negative numbers, of which there may be very many. They are a
    // difference of sums of positive ones: |q + n| runs from -q down to 1 - rest.
    const T rest = q - std::floor(q);
    const T below = Eigen::numext::zeta(x, 1 - rest) - Eigen::numext::zeta(x, 1 - q);
    const bool is_odd = std::fmod(x, T(2)) != 0;
    return Eigen::numext::zeta(x, rest) + (is_odd ? -below : below);
  }
};

// Derivative `n` of digamma.
struct PolygammaFn {
  template <typename T>
  static T Apply(T n, T x) {
    if (std::floor(n) != n || n < 0) return std::numeric_limits<T>::quiet_NaN();
    if (n == 0) return DigammaFn::Apply(x);
    const T order = n + 1;
    const T factorial = std::exp(Eigen::numext::lgamma(order));
    const T sign = std::fmod(order, T(2)) != 0 ? T(-1) : T(1);
    return sign * factorial * ZetaFn::Apply(order, x);
  }
};

template <typename T>
using LgammaKernel = Unary<LgammaFn, T>;
template <typename T>
using DigammaKernel = Unary<DigammaFn, T>;
template <typename T>
using ZetaKernel = SlowElementwise<ZetaFn, T, 2>;
template <typename T>
using PolygammaKernel = SlowElementwise<PolygammaFn, T, 2>;

void LgammaGradient(GradientContext& g) { g.Add(0, g.grad() * g.op("Digamma", {g.input(0)})); }

void DigammaGradient(GradientContext& g) {
  const Expr one = g.builder().Scalar(g.input_dtype(0), 1);
  // Polygamma has no kernel for small types.
  const bool is_small = DTypeSize(g.input_dtype(0)) < 4;
  if (!is_small) return g.Add(0, g.grad() * g.op("Polygamma", {one, g.input(0)}));
  const Expr wide = g.op("Polygamma", {Cast(one, DType::kFloat), Cast(g.input(0), DType::kFloat)});
  g.Add(0, g.grad() * Cast(wide, g.input_dtype(0)));
}

// By q alone, as in TensorFlow.
void ZetaGradient(GradientContext& g) {
  if (!g.wants(1)) return;
  const Expr x = g.input(0);
  g.AddBroadcast(1, -(g.grad() * (x * g.op("Zeta", {x + 1.0, g.input(1)}))));
}

void PolygammaGradient(GradientContext& g) {
  if (!g.wants(1)) return;
  g.AddBroadcast(1, g.grad() * g.op("Polygamma", {g.input(0) + 1.0, g.input(1)}));
}

}  // namespace

void RegisterGamma(OpRegistry& ops) {
  AddUnaryOp(ops, "Lgamma", {"math.lgamma", "compat.v1.lgamma"}, kFloatTypes,
             "The logarithm of the absolute value of the gamma function of x.",
             ForTypes<LgammaKernel, FloatTypes>("T"), {LgammaGradient});
  AddUnaryOp(ops, "Digamma", {"math.digamma", "compat.v1.digamma"}, kFloatTypes,
             "The derivative of lgamma.", ForTypes<DigammaKernel, FloatTypes>("T"),
             {DigammaGradient});
  AddSpecialOp(ops, "Zeta(x: T, q: T) -> z: T", {"math.zeta", "compat.v1.zeta"}, "{float, double}",
               "Hurwitz' zeta function: the sum of 1 / (q + n)^x for n = 0, 1, …",
               ForTypes<ZetaKernel, Types<float, double>>("T"), {ZetaGradient});
  AddSpecialOp(ops, "Polygamma(a: T, x: T) -> z: T", {"math.polygamma", "compat.v1.polygamma"},
               "{float, double}", "Derivative number a of digamma at x.",
               ForTypes<PolygammaKernel, Types<float, double>>("T"), {PolygammaGradient});
}

}  // namespace gyre
