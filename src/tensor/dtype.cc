#include "gyre/core/dtype.h"

#include <array>

namespace gyre {
namespace {

struct DTypeInfo {
  absl::string_view name;         // numpy's
  absl::string_view schema_name;  // the schema language's, when it differs
  size_t size;
};

constexpr std::array<DTypeInfo, 24> kInfo = {{
    {"invalid", "", 0},   {"float32", "float", 4}, {"float64", "double", 8}, {"int32", "", 4},
    {"uint8", "", 1},     {"int16", "", 2},        {"int8", "", 1},          {"string", "", 0},
    {"complex64", "", 8}, {"int64", "", 8},        {"bool", "", 1},          {"qint8", "", 1},
    {"quint8", "", 1},    {"qint32", "", 4},       {"bfloat16", "", 2},      {"qint16", "", 2},
    {"quint16", "", 2},   {"uint16", "", 2},       {"complex128", "", 16},   {"float16", "half", 2},
    {"resource", "", 0},  {"variant", "", 0},      {"uint32", "", 4},        {"uint64", "", 8},
}};

uint16_t FloatToHalfBits(float value) {
  uint32_t u;
  std::memcpy(&u, &value, 4);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // inf, nan
    return static_cast<uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u));
  }
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to inf
  if (magnitude < 0x38800000u) {                                               // subnormal or zero
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<uint16_t>(sign);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126 - exponent;
    uint32_t half = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1);
    const uint32_t middle = 1u << (shift - 1);
    if (rest > middle || (rest == middle && (half & 1u))) ++half;
    return static_cast<uint16_t>(sign | half);
  }
  uint32_t half = (magnitude - 0x38000000u) >> 13;
  const uint32_t rest = magnitude & 0x1fffu;
  if (rest > 0x1000u || (rest == 0x1000u && (half & 1u))) ++half;
  return static_cast<uint16_t>(sign | half);
}

float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  uint32_t u;
  if (exponent == 31) {
    u = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent == 0) {
    if (mantissa == 0) {
      u = sign;
    } else {
      exponent = 113;
      while (!(mantissa & 0x400u)) {
        mantissa <<= 1;
        --exponent;
      }
      u = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
    }
  } else {
    u = sign | ((exponent + 112) << 23) | (mantissa << 13);
  }
  float value;
  std::memcpy(&value, &u, 4);
  return value;
}

}  // namespace

Half::Half(float value) : bits(FloatToHalfBits(value)) {}
Half::operator float() const { return HalfBitsToFloat(bits); }

size_t DTypeSize(DType dtype) { return kInfo[static_cast<size_t>(dtype)].size; }

absl::string_view DTypeName(DType dtype) { return kInfo[static_cast<size_t>(dtype)].name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (size_t i = 1; i < kInfo.size(); ++i) {
    if (name == kInfo[i].name || (!kInfo[i].schema_name.empty() && name == kInfo[i].schema_name)) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

DType DTypeFromWire(int wire) {
  if (wire > 100) wire -= 100;
  return wire > 0 && wire < static_cast<int>(kInfo.size()) ? static_cast<DType>(wire)
                                                           : DType::kInvalid;
}

bool IsKnownWireDType(int wire) { return DTypeFromWire(wire) != DType::kInvalid; }

bool IsFloating(DType d) {
  return d == DType::kFloat || d == DType::kDouble || d == DType::kHalf || d == DType::kBfloat16;
}

bool IsComplex(DType d) { return d == DType::kComplex64 || d == DType::kComplex128; }

bool IsInteger(DType d) {
  switch (d) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

bool IsQuantized(DType d) {
  return d == DType::kQint8 || d == DType::kQuint8 || d == DType::kQint16 || d == DType::kQuint16 ||
         d == DType::kQint32;
}

}  // namespace gyre
