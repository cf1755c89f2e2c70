// Gradients of unary functions in terms of the function's value y and the gradient dy that arrives.
// The derivative of a complex function enters conjugated. As with the peer, those that are powers
// of y conjugate it themselves; to TanhGrad and SigmoidGrad the graph hands y conjugated.
#include <complex>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename R>
std::complex<R> Conjugate(std::complex<R> x) {
  return std::conj(x);
}

struct TanhGradFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kTanhGrad;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};

struct SigmoidGradFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kSigmoidGrad;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};

struct SqrtGradFn {
  template <typename T>
  static T Apply(T y, T dy) {
    return T(0.5) * dy / Conjugate(y);
  }
};

struct RsqrtGradFn {
  template <typename T>
  static T Apply(T y, T dy) {
    const T c = Conjugate(y);
    return T(-0.5) * dy * (c * c * c);
  }
};

struct ReciprocalGradFn {
  template <typename T>
  static T Apply(T y, T dy) {
    const T c = Conjugate(y);
    return -dy * (c * c);
  }
};

template <typename T>
using TanhGradKernel = Binary<TanhGradFn, T, /*kBroadcast=*/false>;
template <typename T>
using SigmoidGradKernel = Binary<SigmoidGradFn, T, /*kBroadcast=*/false>;
template <typename T>
using SqrtGradKernel = Binary<SqrtGradFn, T, /*kBroadcast=*/false>;
template <typename T>
using RsqrtGradKernel = Binary<RsqrtGradFn, T, /*kBroadcast=*/false>;
template <typename T>
using ReciprocalGradKernel = Binary<ReciprocalGradFn, T, /*kBroadcast=*/false>;

// Second derivatives. In dy all of these are linear; in y, or in its conjugate, powers. Of a
// function of the conjugate the gradient enters conjugated instead of the derivative.
void TanhGradGradient(GradientContext& g) {
  const Expr y = Conj(g.input(0));
  if (g.wants(0)) g.Add(0, -2.0 * g.grad() * Conj(g.input(1)) * y);
  if (g.wants(1)) g.Add(1, g.op("TanhGrad", {y, g.grad()}));
}

void SigmoidGradGradient(GradientContext& g) {
  const Expr y = Conj(g.input(0));
  if (g.wants(0)) {
    const Expr product = g.grad() * Conj(g.input(1));
    g.Add(0, product - 2.0 * product * y);
  }
  if (g.wants(1)) g.Add(1, g.op("SigmoidGrad", {y, g.grad()}));
}

void SqrtGradGradient(GradientContext& g) {
  if (!g.wants(0) && !g.wants(1)) return;
  const Expr per_y = g.grad() / g.input(0);
  if (g.wants(0)) g.Add(0, -(Conj(per_y) * g.output(0)));
  if (g.wants(1)) g.Add(1, 0.5 * per_y);
}

void RsqrtGradGradient(GradientContext& g) {
  const Expr y = Conj(g.input(0));
  if (g.wants(0)) g.Add(0, -1.5 * Conj(g.grad()) * g.input(1) * g.op("Square", {y}));
  if (g.wants(1)) g.Add(1, g.op("RsqrtGrad", {y, g.grad()}));
}

void ReciprocalGradGradient(GradientContext& g) {
  const Expr y = Conj(g.input(0));
  if (g.wants(0)) g.Add(0, -2.0 * Conj(g.grad()) * g.input(1) * y);
  if (g.wants(1)) g.Add(1, g.op("ReciprocalGrad", {y, g.grad()}));
}

void AddGradient(OpRegistry& ops, absl::string_view name, absl::string_view doc,
                 GradientFn gradient, KernelFactory kernel) {
  ops.Add({.schema = absl::StrCat(name, "(y: T, dy: T) -> z: T {T: ", kFloatAndComplexTypes, "}"),
           .doc = doc,
           .traits = {.elementwise = true},
           .shape = shape::SameForAll,
           .gradient = {gradient},
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterUnaryGradient(OpRegistry& ops) {
  AddGradient(ops, "TanhGrad", "The gradient of Tanh: dy * (1 - y²).", TanhGradGradient,
              ForTypes<TanhGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "SigmoidGrad", "The gradient of Sigmoid: dy * y * (1 - y).", SigmoidGradGradient,
              ForTypes<SigmoidGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "SqrtGrad", "The gradient of Sqrt: dy / (2 * y).", SqrtGradGradient,
              ForTypes<SqrtGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "RsqrtGrad", "The gradient of Rsqrt: -dy * y³ / 2.", RsqrtGradGradient,
              ForTypes<RsqrtGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "ReciprocalGrad", "The gradient of Reciprocal: -dy * y².",
              ReciprocalGradGradient, ForTypes<ReciprocalGradKernel, FloatAndComplexTypes>("T"));
}

}  // namespace gyre
