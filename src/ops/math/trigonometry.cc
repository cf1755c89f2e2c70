// Functions of angles, in radians, and their inverses.
#include <cmath>
#include <complex>

#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

// Apply is for complex numbers; real ones have vector code.
struct SinFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kSin;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::sin(x);
  }
};

struct CosFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kCos;
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::cos(x);
  }
};

struct TanFn {
  template <typename T>
  static T Apply(T x) {
    return std::tan(x);
  }
};

struct AsinFn {
  template <typename T>
  static T Apply(T x) {
    return std::asin(x);
  }
};

struct AcosFn {
  template <typename T>
  static T Apply(T x) {
    return std::acos(x);
  }
};

struct AtanFn {
  template <typename T>
  static T Apply(T x) {
    return std::atan(x);
  }
};

template <typename T>
using SinKernel = Unary<SinFn, T>;
template <typename T>
using CosKernel = Unary<CosFn, T>;
template <typename T>
using TanKernel = Unary<TanFn, T>;
template <typename T>
using AsinKernel = Unary<AsinFn, T>;
template <typename T>
using AcosKernel = Unary<AcosFn, T>;
template <typename T>
using AtanKernel = Unary<AtanFn, T>;

// 1 / sqrt(1 - x²), the derivative of Asin.
Expr AsinSlope(GradientContext& g) {
  return g.op("Rsqrt", {1.0 - g.op("Square", {Conj(g.input(0))})});
}

void AtanGradient(GradientContext& g) {
  g.Add(0, g.grad() / (g.op("Square", {Conj(g.input(0))}) + 1.0));
}

// 1 / cos² is 1 + tan².
void TanGradient(GradientContext& g) {
  g.Add(0, g.grad() * (g.op("Square", {Conj(g.output(0))}) + 1.0));
}

}  // namespace

void RegisterTrigonometry(OpRegistry& ops) {
  AddUnaryOp(ops, "Sin", {"math.sin", "sin"}, kFloatAndComplexTypes, "The sine of x.",
             ForTypes<SinKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * Conj(g.op("Cos", {g.input(0)}))); }});
  AddUnaryOp(ops, "Cos", {"math.cos", "cos"}, kFloatAndComplexTypes, "The cosine of x.",
             ForTypes<CosKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, -(g.grad() * Conj(g.op("Sin", {g.input(0)})))); }});
  AddUnaryOp(ops, "Tan", {"math.tan", "tan"}, kSignedTypes,
             "The tangent of x, for floating-point and complex numbers.",
             ForTypes<TanKernel, FloatAndComplexTypes>("T"), {TanGradient});
  AddUnaryOp(ops, "Asin", {"math.asin", "asin"}, kSignedTypes,
             "The angle whose sine is x, for floating-point and complex numbers.",
             ForTypes<AsinKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * AsinSlope(g)); }});
  AddUnaryOp(ops, "Acos", {"math.acos", "acos"}, kSignedTypes,
             "The angle whose cosine is x, for floating-point and complex numbers.",
             ForTypes<AcosKernel, FloatAndComplexTypes>("T"),
             {[](GradientContext& g) { g.Add(0, -(g.grad() * AsinSlope(g))); }});
  AddUnaryOp(ops, "Atan", {"math.atan", "atan"}, kSignedTypes,
             "The angle whose tangent is x, for floating-point and complex numbers.",
             ForTypes<AtanKernel, FloatAndComplexTypes>("T"), {AtanGradient});
}

}  // namespace gyre
