// Element types of tensors, numbered as on the wire (GraphDef's DataType).
//
// `DType` is a value; `DTypeOf<T>` maps a C++ element type to it. Reference types of the wire
// (value + 100) are not element types: a Ref is a property of an argument, see `IsRefDType` and
// `BaseDType`.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "gyre/core/export.h"

namespace gyre {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

// IEEE binary16. Arithmetic is done in float and rounded to nearest even, element by element.
struct GYRE_EXPORT Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};

// bfloat16: the upper half of a float. Arithmetic is done in float and rounded to nearest even; NaN
// stays NaN.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40u);  // a quiet NaN keeps its sign
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const {
    uint32_t u = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &u, 4);
    return value;
  }
};

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// Bytes per element in a tensor's buffer; 0 for types that are not plain bytes (string, resource,
// variant) and for kInvalid.
GYRE_EXPORT size_t DTypeSize(DType dtype);

// "float32", "int64", "bool", … (numpy's names, which TensorFlow's Python shows); "invalid"
// otherwise.
GYRE_EXPORT absl::string_view DTypeName(DType dtype);
inline std::string to_string(DType dtype) { return std::string(DTypeName(dtype)); }

// Accepts numpy's names ("float32") and the schema language's ("float", "half"). nullopt when
// unknown.
GYRE_EXPORT std::optional<DType> ParseDType(absl::string_view name);

// True when `wire` (a DataType number) is a type that Gyre knows, Ref variants included.
GYRE_EXPORT bool IsKnownWireDType(int wire);
inline bool IsRefWireDType(int wire) { return wire > 100; }
// The element type behind a wire number, Ref or not; kInvalid when unknown.
GYRE_EXPORT DType DTypeFromWire(int wire);

GYRE_EXPORT bool IsFloating(DType dtype);  // half, bfloat16, float, double
GYRE_EXPORT bool IsComplex(DType dtype);
GYRE_EXPORT bool IsInteger(DType dtype);  // signed and unsigned, not quantised, not bool
GYRE_EXPORT bool IsQuantized(DType dtype);
// Elements are plain bytes that may be copied with memcpy.
inline bool IsTrivial(DType dtype) { return DTypeSize(dtype) != 0; }

// Maps C++ element types to DType. Quantised types have no C++ type: they are carried, compared and
// moved as bytes.
template <typename T>
struct DTypeOfImpl;
#define GYRE_DTYPE_(T, D)                    \
  template <>                                \
  struct DTypeOfImpl<T> {                    \
    static constexpr DType value = DType::D; \
  }
GYRE_DTYPE_(float, kFloat);
GYRE_DTYPE_(double, kDouble);
GYRE_DTYPE_(int32_t, kInt32);
GYRE_DTYPE_(uint8_t, kUint8);
GYRE_DTYPE_(int16_t, kInt16);
GYRE_DTYPE_(int8_t, kInt8);
GYRE_DTYPE_(std::string, kString);
GYRE_DTYPE_(complex64, kComplex64);
GYRE_DTYPE_(int64_t, kInt64);
GYRE_DTYPE_(bool, kBool);
GYRE_DTYPE_(BFloat16, kBfloat16);
GYRE_DTYPE_(uint16_t, kUint16);
GYRE_DTYPE_(complex128, kComplex128);
GYRE_DTYPE_(Half, kHalf);
GYRE_DTYPE_(uint32_t, kUint32);
GYRE_DTYPE_(uint64_t, kUint64);
#undef GYRE_DTYPE_

template <typename T>
inline constexpr DType DTypeOf = DTypeOfImpl<std::remove_cv_t<T>>::value;

}  // namespace gyre
