// Exponentials, logarithms, and the functions made of them.
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

// Apply is for complex numbers; real ones have vector code.
struct ExpFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kExp;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::exp(x);
  }
};

struct LogFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kLog;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::log(x);
  }
};

struct TanhFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kTanh;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::tanh(x);
  }
};

struct SigmoidFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kSigmoid;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return R(1) / (R(1) + std::exp(-x));
  }
};

struct Expm1Fn {
  template <typename T>
  static T Apply(T x) {
    return std::expm1(x);
  }
  // exp(a + ib) - 1: its real part, exp(a) cos(b) - 1, without taking 1 from a number close to it.
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    const R less_one = std::expm1(x.real());
    const R magnitude = less_one + R(1);
    const R half_sine = std::sin(x.imag() / R(2));
    return {less_one - R(2) * magnitude * (half_sine * half_sine), magnitude * std::sin(x.imag())};
  }
};

struct Log1pFn {
  template <typename T>
  static T Apply(T x) {
    return std::log1p(x);
  }
  // What rounding 1 + x loses is made up for by a quotient of two numbers that suffered that loss.
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    const std::complex<R> u = R(1) + x;
    return u == R(1) ? x : x * (std::log(u) / (u - R(1)));
  }
};

struct SinhFn {
  template <typename T>
  static T Apply(T x) {
    return std::sinh(x);
  }
};

struct CoshFn {
  template <typename T>
  static T Apply(T x) {
    return std::cosh(x);
  }
};

struct ErfFn {
  template <typename T>
  static T Apply(T x) {
    return std::erf(x);
  }
};

struct ErfcFn {
  template <typename T>
  static T Apply(T x) {
    return std::erfc(x);
  }
};

struct SoftplusFn {
  template <typename T>
  static T Apply(T x) {
    // exp of a number that is not positive: it cannot overflow.
    return x > T(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
};

struct SoftplusGradFn {
  template <typename T>
  static T Apply(T gradient, T x) {
    return gradient / (std::exp(-x) + T(1));
  }
};

template <typename T>
using ExpKernel = Unary<ExpFn, T>;
template <typename T>
using LogKernel = Unary<LogFn, T>;
template <typename T>
using TanhKernel = Unary<TanhFn, T>;
template <typename T>
using SigmoidKernel = Unary<SigmoidFn, T>;
template <typename T>
using Expm1Kernel = Unary<Expm1Fn, T>;
template <typename T>
using Log1pKernel = Unary<Log1pFn, T>;
template <typename T>
using SinhKernel = Unary<SinhFn, T>;
template <typename T>
using CoshKernel = Unary<CoshFn, T>;
template <typename T>
using ErfKernel = Unary<ErfFn, T>;
template <typename T>
using ErfcKernel = Unary<ErfcFn, T>;
template <typename T>
using SoftplusKernel = Unary<SoftplusFn, T>;
template <typename T>
using SoftplusGradKernel = Binary<SoftplusGradFn, T, /*kBroadcast=*/false>;

void ErfGradient(GradientContext& g) {
  const Expr slope = g.op("Exp", {-g.op("Square", {g.input(0)})});
  g.Add(0, M_2_SQRTPI * g.grad() * slope);
}

void ErfcGradient(GradientContext& g) {
  const Expr slope = g.op("Exp", {-g.op("Square", {g.input(0)})});
  g.Add(0, -M_2_SQRTPI * g.grad() * slope);
}

// The derivative of the slope s = 1 / (exp(-x) + 1) is s (1 - s).
void SoftplusGradGradient(GradientContext& g) {
  const Expr x = g.input(1);
  if (g.wants(0)) g.Add(0, g.op("SoftplusGrad", {g.grad(), x}));
  if (!g.wants(1)) return;
  const Expr denominator = g.op("Exp", {-x}) + 2.0 + g.op("Exp", {x});
  g.Add(1, g.grad() * g.input(0) / denominator);
}

}  // namespace

void RegisterExponential(OpRegistry& ops) {
  AddUnaryOp(ops, "Exp", {"math.exp", "exp"}, kFloatAndComplexTypes, "e to the power x.",
             ForTypes<ExpKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * Conj(g.output(0))); }});
  AddUnaryOp(ops, "Log", {"math.log", "compat.v1.log"}, kFloatAndComplexTypes,
             "The natural logarithm of x; NaN if x < 0.",
             ForTypes<LogKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() / Conj(g.input(0))); }});
  AddUnaryOp(
      ops, "Tanh", {"math.tanh", "nn.tanh", "tanh"}, kFloatAndComplexTypes,
      "The hyperbolic tangent of x.", ForTypes<TanhKernel, FloatAndComplexTypes>("T"),
      {[](GradientContext& g) { g.Add(0, g.op("TanhGrad", {Conj(g.output(0)), g.grad()})); }});
  AddUnaryOp(
      ops, "Sigmoid", {"math.sigmoid", "nn.sigmoid", "sigmoid"}, kFloatAndComplexTypes,
      "1 / (1 + exp(-x)).", ForTypes<SigmoidKernel, FloatAndComplexTypes>("T"),
      {[](GradientContext& g) { g.Add(0, g.op("SigmoidGrad", {Conj(g.output(0)), g.grad()})); }});
  AddUnaryOp(ops, "Expm1", {"math.expm1", "compat.v1.expm1"}, kFloatAndComplexTypes,
             "exp(x) - 1, accurate near 0.", ForTypes<Expm1Kernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * Conj(g.op("Exp", {g.input(0)}))); }});
  AddUnaryOp(ops, "Log1p", {"math.log1p", "compat.v1.log1p"}, kFloatAndComplexTypes,
             "log(1 + x), accurate near 0.", ForTypes<Log1pKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() / (Conj(g.input(0)) + 1.0)); }});
  AddUnaryOp(ops, "Sinh", {"math.sinh", "sinh"}, kFloatAndComplexTypes, "The hyperbolic sine of x.",
             ForTypes<SinhKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * Conj(g.op("Cosh", {g.input(0)}))); }});
  AddUnaryOp(ops, "Cosh", {"math.cosh", "cosh"}, kFloatAndComplexTypes,
             "The hyperbolic cosine of x.", ForTypes<CoshKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * Conj(g.op("Sinh", {g.input(0)}))); }});
  AddUnaryOp(ops, "Erf", {"math.erf", "compat.v1.erf"}, kFloatTypes, "The error function of x.",
             ForTypes<ErfKernel, FloatTypes>("T"), {ErfGradient});
  AddUnaryOp(ops, "Erfc", {"math.erfc", "compat.v1.erfc"}, kFloatTypes,
             "1 minus the error function of x.", ForTypes<ErfcKernel, FloatTypes>("T"),
             {ErfcGradient});
  ops.Add({.schema = "Softplus(features: T) -> activations: T {T: {half, bfloat16, float, double}}",
           .doc = "log(1 + exp(x)), without overflow.",
           .api = {"math.softplus", "nn.softplus"},
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = {[](GradientContext& g) {
             g.Add(0, g.op("SoftplusGrad", {g.grad(), g.input(0)}));
           }},
           .failure = fails::Never,
           .kernel = ForTypes<SoftplusKernel, FloatTypes>("T")});
  ops.Add({.schema = "SoftplusGrad(gradients: T, features: T) -> backprops: T {T: {half, bfloat16, "
                     "float, double}}",
           .doc = "The gradient of Softplus: gradients / (exp(-features) + 1).",
           .traits = {.elementwise = true},
           .shape = shape::SameForAll,
           .gradient = {SoftplusGradGradient},
           .kernel = ForTypes<SoftplusGradKernel, FloatTypes>("T")});
}

}  // namespace gyre
