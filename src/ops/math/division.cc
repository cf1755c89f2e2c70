// Quotients and remainders. Of integers: a zero divisor is an error, and the least integer divided
// by -1 wraps around to itself, with remainder 0.
#include <cmath>
#include <type_traits>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

constexpr const char* kDivisionByZero = "Integer division by zero";

template <typename T>
constexpr bool kIsSignedInt = std::is_integral_v<T> && std::is_signed_v<T>;

// Rounded toward zero. Requirement: y != 0 for integers.
template <typename T>
T Quotient(T x, T y) {
  if constexpr (kIsSignedInt<T>) {
    if (y == -1)
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<std::common_type_t<T, int>>>(x));
  }
  return static_cast<T>(x / y);
}

// Has the sign of x. Requirement: y != 0 for integers.
template <typename T>
T Remainder(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(x, y);
  } else {
    if constexpr (kIsSignedInt<T>) {
      if (y == -1) return 0;
    }
    return static_cast<T>(x % y);
  }
}

// Shared by the ops below for integers, where every divisor must be checked.
struct NonZeroDivisor {
  static constexpr const char* kError = kDivisionByZero;
  template <typename T>
    requires std::is_integral_v<T>
  static bool Valid(T, T y) {
    return y != 0;
  }
};

struct DivFn : NonZeroDivisor {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kDiv;
  template <typename T>
  static T Apply(T x, T y) {
    return Quotient(x, y);
  }
};

struct DivNoNanFn {
  template <typename T>
  static T Apply(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};

struct FloorDivFn : NonZeroDivisor {
  template <typename T>
  static T Apply(T x, T y) {
    const T quotient = Quotient(x, y);
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(quotient);
    } else if constexpr (kIsSignedInt<T>) {
      return Remainder(x, y) != 0 && (x < 0) != (y < 0) ? static_cast<T>(quotient - 1) : quotient;
    } else {
      return quotient;
    }
  }
};

struct TruncateDivFn : NonZeroDivisor {
  template <typename T>
  static T Apply(T x, T y) {
    const T quotient = Quotient(x, y);
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(quotient);
    } else {
      return quotient;
    }
  }
};

// A quotient of half or bfloat16 numbers: rounded to that type, T, before F makes it whole.
template <typename F, typename T>
struct SmallQuotientFn {
  static float Apply(float x, float y) { return F::Apply(static_cast<float>(T(x / y)), 1.0f); }
};

// What computes F for elements of type T.
template <typename F, typename T>
using QuotientFn = std::conditional_t<kIsSmallFloat<T>, SmallQuotientFn<F, T>, F>;

struct FloorModFn : NonZeroDivisor {
  template <typename T>
  static T Apply(T x, T y) {
    const T remainder = Remainder(x, y);
    if constexpr (std::is_unsigned_v<T>) {
      return remainder;
    } else {
      return remainder != 0 && (remainder < 0) != (y < 0) ? static_cast<T>(remainder + y)
                                                          : remainder;
    }
  }
};

struct TruncateModFn : NonZeroDivisor {
  template <typename T>
  static T Apply(T x, T y) {
    return Remainder(x, y);
  }
};

template <typename T>
using DivKernel = Binary<DivFn, T>;
template <typename T>
using DivNoNanKernel = Binary<DivNoNanFn, T>;
template <typename T>
using FloorDivKernel = Binary<QuotientFn<FloorDivFn, T>, T>;
template <typename T>
using TruncateDivKernel = Binary<QuotientFn<TruncateDivFn, T>, T>;
template <typename T>
using FloorModKernel = Binary<FloorModFn, T>;
template <typename T>
using TruncateModKernel = Binary<TruncateModFn, T>;

// Of z = x / y: grad / y, and that times -z. Where x is constant, z is computed anew: a loop then
// saves y alone.
void QuotientGradient(GradientContext& g, absl::string_view division) {
  if (!g.wants(0) && !g.wants(1)) return;
  const Expr y = Conj(g.input(1));
  const Expr to_x = g.op(division, {g.grad(), y});
  g.AddBroadcast(0, to_x);
  if (!g.wants(1)) return;
  const bool anew = g.input_constant(0) != nullptr;
  const Expr z = anew ? g.op(division, {Conj(g.input(0)), y}) : Conj(g.output(0));
  g.AddBroadcast(1, -(to_x * z));
}

void DivGradient(GradientContext& g) { QuotientGradient(g, "RealDiv"); }
void DivNoNanGradient(GradientContext& g) { QuotientGradient(g, "DivNoNan"); }

// Of the remainder x - y * q, where `division` gives the whole quotient q.
void RemainderGradient(GradientContext& g, absl::string_view division) {
  g.AddBroadcast(0, g.grad());
  if (g.wants(1)) g.AddBroadcast(1, -(g.grad() * g.op(division, {g.input(0), g.input(1)})));
}

void FloorModGradient(GradientContext& g) { RemainderGradient(g, "FloorDiv"); }
void TruncateModGradient(GradientContext& g) { RemainderGradient(g, "TruncateDiv"); }

// Only integers cannot be divided by zero.
Failure DivisionFailure(const Node& node) {
  return IsInteger(node.signature.outputs[0].dtype) ? Failure::kByValues : Failure::kByShapes;
}

void DivSimplify(SimplifyContext& s) { simplify::IfNeutral(s, 1, 1.0); }

// Of floats these round: x / 1 is x only for integers.
void IntegerDivSimplify(SimplifyContext& s) {
  if (IsInteger(s.output_dtype(0))) simplify::IfNeutral(s, 1, 1.0);
}

}  // namespace

void RegisterDivision(OpRegistry& ops) {
  AddBinaryOp(ops, "Div", {}, kAnyNumberTypes, "x / y; of integers rounded toward zero.",
              ForTypes<DivKernel, NumberTypes>("T"), {DivGradient},
              {.simplify = DivSimplify, .failure = DivisionFailure});
  AddBinaryOp(ops, "RealDiv", {}, kAnyNumberTypes, "x / y, for floating-point and complex numbers.",
              ForTypes<DivKernel, FloatAndComplexTypes>("T"), {DivGradient},
              {.simplify = DivSimplify});
  AddBinaryOp(ops, "TruncateDiv", {"truncatediv"}, kAnyNumberTypes, "x / y rounded toward zero.",
              ForTypes<TruncateDivKernel, RealTypes>("T"),
              NotDifferentiable("a quotient rounded toward zero is constant between its steps"),
              {.simplify = IntegerDivSimplify, .failure = DivisionFailure});
  AddBinaryOp(
      ops, "DivNoNan", {"math.divide_no_nan", "compat.v1.divide_no_nan", "compat.v1.div_no_nan"},
      "{half, float, bfloat16, double, complex64, complex128}", "x / y, and 0 where y is 0.",
      ForTypes<DivNoNanKernel, FloatAndComplexTypes>("T"), {DivNoNanGradient});
  AddBinaryOp(
      ops, "FloorDiv", {"math.floordiv", "compat.v1.floordiv"}, kAnyNumberTypes,
      "x / y rounded down.", ForTypes<FloorDivKernel, RealTypes>("T"),
      NotDifferentiable("a quotient rounded down is constant between its steps"),
      {.simplify = IntegerDivSimplify, .failure = DivisionFailure, .shape = [](ShapeContext& c) {
         // Of x / 0 nothing is known: a negative number is no size.
         return BroadcastOfSizes(c,
                                 [](int64_t x, int64_t y) { return y == 0 ? int64_t{-1} : x / y; });
       }});
  AddBinaryOp(
      ops, "FloorMod", {"math.floormod", "compat.v1.floormod", "math.mod", "compat.v1.mod"},
      "{int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}",
      "The remainder of x / y rounded down; it has the sign of y.",
      ForTypes<FloorModKernel, RealTypes>("T"), {FloorModGradient}, {.failure = DivisionFailure});
  AddBinaryOp(
      ops, "TruncateMod", {"truncatemod"}, "{int32, int64, bfloat16, half, float, double}",
      "The remainder of x / y rounded toward zero; it has the sign of x.",
      ForTypes<TruncateModKernel, Types<int32_t, int64_t, float, double, Half, BFloat16>>("T"),
      {TruncateModGradient}, {.failure = DivisionFailure});
  AddBinaryOp(
      ops, "Mod", {}, "{int32, int64, half, bfloat16, float, double}",
      "The remainder of x / y rounded toward zero; it has the sign of x.",
      ForTypes<TruncateModKernel, Types<int32_t, int64_t, float, double, Half, BFloat16>>("T"),
      {TruncateModGradient}, {.failure = DivisionFailure});
}

}  // namespace gyre
