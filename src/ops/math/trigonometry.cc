// Functions of angles, in radians, and their inverses.
#include <cmath>
#include <complex>

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

}  // namespace

void RegisterTrigonometry(OpRegistry& ops) {
  AddUnaryOp(ops, "Sin", kFloatAndComplexTypes, "The sine of x.",
             ForTypes<SinKernel, FloatAndComplexTypes>("T"));
  AddUnaryOp(ops, "Cos", kFloatAndComplexTypes, "The cosine of x.",
             ForTypes<CosKernel, FloatAndComplexTypes>("T"));
  AddUnaryOp(ops, "Tan", kSignedTypes, "The tangent of x, for floating-point and complex numbers.",
             ForTypes<TanKernel, FloatAndComplexTypes>("T"));
  AddUnaryOp(ops, "Asin", kSignedTypes,
             "The angle whose sine is x, for floating-point and complex numbers.",
             ForTypes<AsinKernel, FloatAndComplexTypes>("T"));
  AddUnaryOp(ops, "Acos", kSignedTypes,
             "The angle whose cosine is x, for floating-point and complex numbers.",
             ForTypes<AcosKernel, FloatAndComplexTypes>("T"));
  AddUnaryOp(ops, "Atan", kSignedTypes,
             "The angle whose tangent is x, for floating-point and complex numbers.",
             ForTypes<AtanKernel, FloatAndComplexTypes>("T"));
}

}  // namespace gyre
