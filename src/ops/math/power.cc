// Powers, and the angle of a point: the binary functions of the C library.
#include <cmath>
#include <complex>
#include <type_traits>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct PowFn {
  static constexpr const char* kError = "Integers to negative integer powers are not allowed";
  template <typename T>
    requires std::is_integral_v<T>
  static bool Valid(T, T y) {
    return y >= 0;
  }

  template <typename T>
    requires(!std::is_integral_v<T>)
  static T Apply(T x, T y) {
    return std::pow(x, y);
  }
  // By repeated squaring; wraps around as two's complement does. Requirement: y >= 0.
  template <typename T>
    requires std::is_integral_v<T>
  static T Apply(T x, T y) {
    uint64_t base = static_cast<uint64_t>(x);
    uint64_t result = 1;
    for (uint64_t exponent = static_cast<uint64_t>(y); exponent != 0; exponent >>= 1) {
      if (exponent & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

struct Atan2Fn {
  template <typename T>
  static T Apply(T y, T x) {
    return std::atan2(y, x);
  }
};

template <typename T>
using PowKernel = Binary<PowFn, T>;
template <typename T>
using Atan2Kernel = Binary<Atan2Fn, T>;

// log(x), and 0 where that is not to be had: at 0, and for negative real numbers.
Expr SafeLog(GradientContext& g, Expr x) {
  const Expr zero = g.builder().Zero(x.dtype());
  const Expr is_safe = g.op(IsComplex(x.dtype()) ? "NotEqual" : "Greater", {x, zero});
  const Expr safe = Where(is_safe, x, g.builder().Scalar(x.dtype(), 1));
  return Where(is_safe, g.op("Log", {safe}), zero);
}

void PowGradient(GradientContext& g) {
  if (g.wants(0)) {
    const Expr y = Conj(g.input(1));
    g.AddBroadcast(0, g.grad() * y * g.op("Pow", {Conj(g.input(0)), y - 1.0}));
  }
  if (g.wants(1)) {
    g.AddBroadcast(1, g.grad() * Conj(g.output(0)) * SafeLog(g, Conj(g.input(0))));
  }
}

void Atan2Gradient(GradientContext& g) {
  if (!g.wants(0) && !g.wants(1)) return;
  const Expr y = g.input(0);
  const Expr x = g.input(1);
  const Expr per_square = g.grad() / (g.op("Square", {y}) + g.op("Square", {x}));
  if (g.wants(0)) g.AddBroadcast(0, x * per_square);
  if (g.wants(1)) g.AddBroadcast(1, -y * per_square);
}

}  // namespace

void RegisterPower(OpRegistry& ops) {
  AddBinaryOp(ops, "Pow", {"math.pow", "pow"},
              "{bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}",
              "x to the power y.", ForTypes<PowKernel, SignedTypes>("T"), {PowGradient},
              {.failure = nullptr});
  ops.Add({.schema = "Atan2(y: T, x: T) -> z: T {T: {bfloat16, half, float, double}}",
           .doc = "The angle of the point (x, y), in radians from -π to π.",
           .api = {"math.atan2", "atan2"},
           .traits = {.elementwise = true},
           .shape = shape::Broadcast,
           .gradient = {Atan2Gradient},
           .failure = fails::ByShapes,
           .kernel = ForTypes<Atan2Kernel, FloatTypes>("T")});
}

}  // namespace gyre
