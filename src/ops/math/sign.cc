// Magnitude and sign. The least integer has no positive counterpart: Abs and Neg give it back.
#include <cmath>
#include <complex>
#include <type_traits>

#include "ir/gradient_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct NegFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kNeg;
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    } else {
      return -x;
    }
  }
};

struct AbsFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kAbs;
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? NegFn::Apply(x) : x;
    } else {
      return std::abs(x);
    }
  }
};

struct SignFn {
  template <typename T>
  static T Apply(T x) {
    return x != x ? x : static_cast<T>((x > 0) - (x < 0));
  }
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return x == std::complex<R>(0) ? x : x / std::abs(x);
  }
};

template <typename T>
using NegKernel = Unary<NegFn, T>;
template <typename T>
using AbsKernel = Unary<AbsFn, T>;
template <typename T>
using SignKernel = Unary<SignFn, T>;

// That of real numbers is constant between its steps. x / |x| of complex ones moves along the unit
// circle: of the gradient, what is across y = x / |x| counts, divided by |x|.
void SignGradient(GradientContext& g) {
  if (!IsComplex(g.output_dtype(0)) || !g.wants(0)) return;
  const Expr y = g.output(0);
  const Expr along = RealPart(g.grad() * Conj(y));
  const Expr length = g.op("ComplexAbs", {g.input(0)}, {{"Tout", along.dtype()}});
  const Expr across = g.grad() - y * Cast(along, y.dtype());
  g.Add(0, g.op("DivNoNan", {across, Cast(length, y.dtype())}));
}

}  // namespace

void RegisterSign(OpRegistry& ops) {
  AddUnaryOp(ops, "Neg", {"math.negative", "negative", "compat.v1.neg"}, kSignedTypes, "-x.",
             ForTypes<NegKernel, SignedTypes>("T"),
             {[](GradientContext& g) { g.Add(0, -g.grad()); }}, simplify::Involution);
  AddUnaryOp(
      ops, "Abs", {}, "{bfloat16, half, float, double, int8, int16, int32, int64}", "|x|.",
      ForTypes<AbsKernel, Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t>>(
          "T"),
      {[](GradientContext& g) { g.Add(0, g.grad() * g.op("Sign", {g.input(0)})); }});
  AddUnaryOp(ops, "Sign", {"math.sign", "sign"}, kSignedTypes,
             "-1, 0 or 1, as x is negative, zero or positive; x / |x| of complex numbers.",
             ForTypes<SignKernel, SignedTypes>("T"), {SignGradient});
}

}  // namespace gyre
