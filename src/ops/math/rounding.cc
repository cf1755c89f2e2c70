// Rounding to whole numbers, and what kind of number x is.
#include <cmath>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct FloorFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kFloor;
  template <typename T>
  static T Apply(T x) {
    return std::floor(x);
  }
};

struct CeilFn {
  template <typename T>
  static T Apply(T x) {
    return std::ceil(x);
  }
};

// To nearest, halves to even: the rounding mode that every process starts in and Gyre never
// changes.
struct RoundFn {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::nearbyint(x);
    }
  }
};

struct IsFiniteFn {
  template <typename T>
  static bool Apply(T x) {
    return std::isfinite(x);
  }
};

struct IsInfFn {
  template <typename T>
  static bool Apply(T x) {
    return std::isinf(x);
  }
};

struct IsNanFn {
  template <typename T>
  static bool Apply(T x) {
    return std::isnan(x);
  }
};

template <typename T>
using FloorKernel = Unary<FloorFn, T>;
template <typename T>
using CeilKernel = Unary<CeilFn, T>;
template <typename T>
using RoundKernel = Unary<RoundFn, T>;
template <typename T>
using IsFiniteKernel = Unary<IsFiniteFn, T>;
template <typename T>
using IsInfKernel = Unary<IsInfFn, T>;
template <typename T>
using IsNanKernel = Unary<IsNanFn, T>;

void AddTest(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
             absl::string_view doc, KernelFactory kernel) {
  ops.Add({.schema = absl::StrCat(name, "(x: T) -> y: bool {T: ", kFloatTypes, "}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterRounding(OpRegistry& ops) {
  const Gradient steps = NotDifferentiable("a rounded number is constant between its steps");
  AddUnaryOp(ops, "Floor", {"math.floor", "floor"}, kFloatTypes, "The largest whole number <= x.",
             ForTypes<FloorKernel, FloatTypes>("T"), steps);
  AddUnaryOp(ops, "Ceil", {"math.ceil", "compat.v1.ceil"}, kFloatTypes,
             "The smallest whole number >= x.", ForTypes<CeilKernel, FloatTypes>("T"), steps);
  AddUnaryOp(ops, "Rint", {"math.rint", "compat.v1.rint"}, kFloatTypes,
             "The whole number nearest to x, the even one of two.",
             ForTypes<RoundKernel, FloatTypes>("T"), steps);
  AddUnaryOp(ops, "Round", {"math.round", "round"}, kSignedTypes,
             "The whole number nearest to x, the even one of two.",
             ForTypes<RoundKernel,
                      Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t>>("T"),
             steps);
  AddTest(ops, "IsFinite", {"math.is_finite", "compat.v1.is_finite"},
          "Whether x is neither infinite nor NaN.", ForTypes<IsFiniteKernel, FloatTypes>("T"));
  AddTest(ops, "IsInf", {"math.is_inf", "compat.v1.is_inf"}, "Whether x is an infinity.",
          ForTypes<IsInfKernel, FloatTypes>("T"));
  AddTest(ops, "IsNan", {"math.is_nan", "compat.v1.is_nan"}, "Whether x is NaN.",
          ForTypes<IsNanKernel, FloatTypes>("T"));
}

}  // namespace gyre
