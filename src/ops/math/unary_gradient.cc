// Gradients of unary functions in terms of the function's value y and the gradient dy that arrives.
// The derivative of a complex function enters conjugated. As with the peer, those that are powers
// of y conjugate it themselves; to TanhGrad and SigmoidGrad the graph hands y conjugated.
#include <complex>

#include "absl/strings/str_cat.h"
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
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};

struct SigmoidGradFn {
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

void AddGradient(OpRegistry& ops, absl::string_view name, absl::string_view doc,
                 KernelFactory kernel) {
  ops.Add({.schema = absl::StrCat(name, "(y: T, dy: T) -> z: T {T: ", kFloatAndComplexTypes, "}"),
           .doc = doc,
           .traits = {.elementwise = true},
           .shape = shape::SameForAll,
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterUnaryGradient(OpRegistry& ops) {
  AddGradient(ops, "TanhGrad", "The gradient of Tanh: dy * (1 - y²).",
              ForTypes<TanhGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "SigmoidGrad", "The gradient of Sigmoid: dy * y * (1 - y).",
              ForTypes<SigmoidGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "SqrtGrad", "The gradient of Sqrt: dy / (2 * y).",
              ForTypes<SqrtGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "RsqrtGrad", "The gradient of Rsqrt: -dy * y³ / 2.",
              ForTypes<RsqrtGradKernel, FloatAndComplexTypes>("T"));
  AddGradient(ops, "ReciprocalGrad", "The gradient of Reciprocal: -dy * y².",
              ForTypes<ReciprocalGradKernel, FloatAndComplexTypes>("T"));
}

}  // namespace gyre
