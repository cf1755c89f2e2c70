// Bits of integers, and shifts. A shift by a negative amount shifts by 0, one by the width or more
// by the width less 1.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

constexpr absl::string_view kIntTypes =
    "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}";

struct BitwiseAndFn {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};

struct BitwiseOrFn {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};

struct BitwiseXorFn {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};

struct InvertFn {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(~x);
  }
};

template <typename T>
int ShiftAmount(T y) {
  constexpr T kLargest = sizeof(T) * 8 - 1;
  return static_cast<int>(std::clamp<T>(y, 0, kLargest));
}

struct LeftShiftFn {
  template <typename T>
  static T Apply(T x, T y) {
    // In 64 bits, without sign: neither the shift nor the promotion of a narrow type can overflow.
    return static_cast<T>(static_cast<uint64_t>(x) << ShiftAmount(y));
  }
};

// Arithmetic for signed types: the sign fills the bits that become free.
struct RightShiftFn {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x >> ShiftAmount(y));
  }
};

template <typename T>
using BitwiseAndKernel = Binary<BitwiseAndFn, T>;
template <typename T>
using BitwiseOrKernel = Binary<BitwiseOrFn, T>;
template <typename T>
using BitwiseXorKernel = Binary<BitwiseXorFn, T>;
template <typename T>
using InvertKernel = Unary<InvertFn, T>;
template <typename T>
using LeftShiftKernel = Binary<LeftShiftFn, T>;
template <typename T>
using RightShiftKernel = Binary<RightShiftFn, T>;

}  // namespace

void RegisterBitwise(OpRegistry& ops) {
  const Gradient none = NotDifferentiable("the operands are integers");
  AddBinaryOp(ops, "BitwiseAnd", {"bitwise.bitwise_and"}, kIntTypes,
              "The bits that are set in x and in y.", ForTypes<BitwiseAndKernel, IntTypes>("T"),
              none, {.commutative = true});
  AddBinaryOp(ops, "BitwiseOr", {"bitwise.bitwise_or"}, kIntTypes,
              "The bits that are set in x or in y.", ForTypes<BitwiseOrKernel, IntTypes>("T"), none,
              {.commutative = true});
  AddBinaryOp(ops, "BitwiseXor", {"bitwise.bitwise_xor"}, kIntTypes,
              "The bits that are set in either x or y.", ForTypes<BitwiseXorKernel, IntTypes>("T"),
              none, {.commutative = true});
  AddUnaryOp(ops, "Invert", {"bitwise.invert"}, kIntTypes, "The bits that are not set in x.",
             ForTypes<InvertKernel, IntTypes>("T"), none, simplify::Involution);
  AddBinaryOp(ops, "LeftShift", {"bitwise.left_shift"}, kIntTypes,
              "x shifted left by y bits; y is clamped to [0, width - 1].",
              ForTypes<LeftShiftKernel, IntTypes>("T"), none);
  AddBinaryOp(ops, "RightShift", {"bitwise.right_shift"}, kIntTypes,
              "x shifted right by y bits, keeping the sign; y is clamped to [0, width - 1].",
              ForTypes<RightShiftKernel, IntTypes>("T"), none);
}

}  // namespace gyre
