// Vector code for the elementwise ops that models spend their time in, chosen at run time by what
// the CPU can do.
//
// A row function computes one contiguous stretch. An element's result depends on its value alone,
// never on its position in the stretch or on the stretch's length, so that a scalar, a tail and a
// split across threads give the same bits. (Different CPUs may round the functions of kExp and
// after differently: those with fused multiply-add do better.) Row functions are pure and may be
// called from any thread. The output may be one of the inputs.
#pragma once

#include <cstdint>

#include "gyre/core/dtype.h"

namespace gyre {

// Which operands of a stretch are a single element, used for all of it.
enum class Operands : uint8_t { kVectors, kScalarX, kScalarY };

// y[i] = f(x[i]) for i in [0, n).
using UnaryRow = void (*)(const void* x, void* y, int64_t n);
// z[i] = f(x[i], y[i]) for i in [0, n). False when some pair has no result, as for a division by
// integer zero; the contents of z are then unspecified.
using BinaryRow = bool (*)(const void* x, const void* y, void* z, int64_t n, Operands operands);

// f(x), with the bits that a UnaryRow gives it.
template <typename T>
using UnaryOne = T (*)(T x);

namespace simd {

enum class UnaryOp : uint8_t {
  kAbs,
  kRelu,
  kNeg,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kFloor,
  kExp,
  kLog,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
};
enum class ArithmeticOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kReluGrad,     // (gradient, feature)
  kTanhGrad,     // (y, dy)
  kSigmoidGrad,  // (y, dy)
};
enum class CompareOp : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual };

// Null when there is no vector code for the type. Every unary op has it for float and double, every
// comparison for float, double, int32 and int64.
UnaryRow FindRow(UnaryOp op, DType dtype);
BinaryRow FindRow(ArithmeticOp op, DType dtype);
BinaryRow FindRow(CompareOp op, DType dtype);
// Of single elements: in a register, and of a vector of one. `kind`: any number of the type.
UnaryOne<float> FindOne(UnaryOp op, float kind);
UnaryOne<double> FindOne(UnaryOp op, double kind);

}  // namespace simd
}  // namespace gyre
