// Products that are 0 where a factor is, whatever the other one is; and the next number of a type.
#include <cmath>
#include <complex>

#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

// Of two NaN, x's: which one a product has, compilers choose.
template <typename T>
T Product(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return x;
  }
  return x * y;
}

struct XlogyFn {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : Product(x, std::log(y));
  }
};

struct Xlog1pyFn {
  template <typename T>
  static T Apply(T x, T y) {
    if (x == T(0)) return T(0);
    if constexpr (std::is_floating_point_v<T>) {
      return Product(x, std::log1p(y));
    } else {
      return x * Log1p(y);
    }
  }

 private:
  // log(1 + y), without the loss of digits of a small y.
  template <typename R>
  static std::complex<R> Log1p(std::complex<R> y) {
    const R a = y.real(), b = y.imag();
    return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
  }
};

struct XdivyFn {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};

struct MulNoNanFn {
  template <typename T>
  static T Apply(T x, T y) {
    return y == T(0) ? T(0) : Product(x, y);
  }
};

struct NextAfterFn {
  template <typename T>
  static T Apply(T x, T y) {
    return std::nextafter(x, y);
  }
};

template <typename T>
using XlogyKernel = Binary<XlogyFn, T>;
template <typename T>
using Xlog1pyKernel = Binary<Xlog1pyFn, T>;
template <typename T>
using XdivyKernel = Binary<XdivyFn, T>;
template <typename T>
using MulNoNanKernel = Binary<MulNoNanFn, T>;
template <typename T>
using NextAfterKernel = Binary<NextAfterFn, T>;

// 1 where input 0 is not 0.
Expr NotZero(GradientContext& g) {
  const Expr x = g.input(0);
  return Cast(g.op("NotEqual", {x, g.builder().Zero(x.dtype())}), x.dtype());
}

// Of x f(y), where x f'(y) is Xdivy(x, `divisor`).
void ProductGradient(GradientContext& g, absl::string_view op, double more) {
  if (g.wants(0)) {
    g.AddBroadcast(0, g.grad() * Conj(g.op(op, {NotZero(g), g.input(1)})));
  }
  if (!g.wants(1)) return;
  const Expr divisor = more == 0 ? g.input(1) : g.input(1) + more;
  g.AddBroadcast(1, g.grad() * Conj(g.op("Xdivy", {g.input(0), divisor})));
}

void XdivyGradient(GradientContext& g) {
  if (g.wants(0)) {
    g.AddBroadcast(0, g.grad() * Conj(g.op("Xdivy", {NotZero(g), g.input(1)})));
  }
  if (!g.wants(1)) return;
  const Expr square = g.op("Square", {g.input(1)});
  g.AddBroadcast(1, -(g.grad() * Conj(g.op("Xdivy", {g.input(0), square}))));
}

void MulNoNanGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, g.op("MulNoNan", {g.grad(), Conj(g.input(1))}));
  if (g.wants(1)) g.AddBroadcast(1, g.op("MulNoNan", {Conj(g.input(0)), g.grad()}));
}

}  // namespace

void RegisterNoNan(OpRegistry& ops) {
  constexpr absl::string_view kTypes = "{half, bfloat16, float, double, complex64, complex128}";
  AddBinaryOp(ops, "Xlogy", {"math.xlogy"}, kTypes, "x log(y), and 0 where x is 0.",
              ForTypes<XlogyKernel, FloatAndComplexTypes>("T"),
              {[](GradientContext& g) { ProductGradient(g, "Xlogy", 0); }});
  AddBinaryOp(ops, "Xlog1py", {"math.xlog1py"}, kTypes, "x log(1 + y), and 0 where x is 0.",
              ForTypes<Xlog1pyKernel, FloatAndComplexTypes>("T"),
              {[](GradientContext& g) { ProductGradient(g, "Xlog1py", 1); }});
  AddBinaryOp(ops, "Xdivy", {"math.xdivy"}, kTypes, "x / y, and 0 where x is 0.",
              ForTypes<XdivyKernel, FloatAndComplexTypes>("T"), {XdivyGradient});
  AddBinaryOp(ops, "MulNoNan", {"math.multiply_no_nan"},
              "{bfloat16, half, float, double, complex64, complex128}",
              "x y, and 0 where y is 0, also if x is infinite or NaN there.",
              ForTypes<MulNoNanKernel, FloatAndComplexTypes>("T"), {MulNoNanGradient});
  ops.Add({.schema = "NextAfter(x1: T, x2: T) -> output: T {T: {double, float} = float}",
           .doc = "The next number of the type from x1 in the direction of x2.",
           .api = {"math.nextafter"},
           .traits = {.elementwise = true},
           .shape = shape::Broadcast,
           .gradient = {[](GradientContext& g) { g.AddBroadcast(0, g.grad()); }},
           .failure = fails::ByShapes,
           .kernel = ForTypes<NextAfterKernel, Types<float, double>>("T")});
}

}  // namespace gyre
