// Element types of fewer bits than Gyre has: numbers of 4 bits are carried as 8-bit integers,
// narrow floats as float32, each of which is one of the narrow type's values. Stateless; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/core/dtype.h"
#include "onnx/scope.h"

namespace gyre::onnx {

// What carries elements of the type; nullopt where it is none of these.
std::optional<DType> NarrowCarrier(int elem_type);
// Bits of an element on the wire: 4 or 8.
int NarrowBits(int elem_type);
// The value of these bits: of an integer or a float.
double DecodeNarrow(int elem_type, uint8_t bits);

// `x` (float32, or an integer type for integers) rounded to values of the type, in its carrier.
// Beyond the largest: that, or what the type has for it (infinity, not a number) where it does not
// `saturate`. `round_mode`: up, down, nearest, of powers of two alone.
Expr Narrowed(Scope& s, const Expr& x, int elem_type, bool saturate, const std::string& round_mode);

}  // namespace gyre::onnx
