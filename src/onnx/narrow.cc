#include "onnx/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/onnx.pb.h"

namespace gyre::onnx {
namespace {

using wire::TensorProto;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A format of sign, exponent and mantissa.
struct Format {
  int elem_type;
  int mantissa_bits;
  int bias;
  double largest;
  double beyond;  // what is larger becomes, unless it saturates
  bool has_negative_zero;
  bool has_nan;
};

constexpr Format kFormats[] = {
    {TensorProto::FLOAT8E4M3FN, 3, 7, 448, kNaN, true, true},
    {TensorProto::FLOAT8E4M3FNUZ, 3, 8, 240, kNaN, false, true},
    {TensorProto::FLOAT8E5M2, 2, 15, 57344, kInfinity, true, true},
    {TensorProto::FLOAT8E5M2FNUZ, 2, 16, 57344, kNaN, false, true},
    {TensorProto::FLOAT4E2M1, 1, 1, 6, 6, true, false},
};

const Format* FormatOf(int elem_type) {
  for (const Format& format : kFormats) {
    if (format.elem_type == elem_type) return &format;
  }
  return nullptr;
}

// Bits that are no number, or infinite.
std::optional<double> Special(int elem_type, uint8_t bits) {
  switch (elem_type) {
    case TensorProto::FLOAT8E4M3FN:
      if ((bits & 0x7f) == 0x7f) return kNaN;
      break;
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2FNUZ:
      if (bits == 0x80) return kNaN;
      break;
    case TensorProto::FLOAT8E5M2:
      if ((bits & 0x7f) > 0x7c) return kNaN;
      if ((bits & 0x7f) == 0x7c) return bits == 0x7c ? kInfinity : -kInfinity;
      break;
    default:
      break;
  }
  return std::nullopt;
}

Expr Int(Scope& s, int32_t value) { return s.b().Int(value); }

// The exponent of a float32, with its bias of 127.
Expr Exponent(Scope& s, const Expr& x) {
  const Expr bits = s.Op("Bitcast", {x}, {{"type", DType::kInt32}});
  return s.Op("BitwiseAnd", {s.Op("RightShift", {bits, Int(s, 23)}), Int(s, 255)});
}

// 2 to the power of an exponent with its bias.
Expr PowerOfTwo(Scope& s, const Expr& exponent) {
  return s.Op("Bitcast", {s.Op("LeftShift", {exponent, Int(s, 23)})}, {{"type", DType::kFloat}});
}

// Rounded to a multiple of the distance between neighbours, which is that of the smallest exponent
// at least.
Expr RoundedFloat(Scope& s, const Expr& x, const Format& format, bool saturate) {
  const auto number = [&](double value) { return s.Scalar(DType::kFloat, value); };
  const Expr least = Int(s, 127 + 1 - format.bias);
  const Expr exponent = s.Op("Maximum", {Exponent(s, x), least});
  const Expr step = PowerOfTwo(s, exponent - static_cast<double>(format.mantissa_bits));
  const Expr rounded = step * s.Op("Rint", {x / step});
  const Expr largest = number(format.largest);
  const double beyond = saturate ? format.largest : format.beyond;
  const Expr size = s.Op("Abs", {rounded});
  const Expr signed_beyond = Where(s.Op("Less", {x, number(0)}), number(-beyond), number(beyond));
  Expr result = Where(s.Op("Greater", {size, largest}), signed_beyond, rounded);
  // What is infinite or no number has no step.
  const Expr is_infinite = s.Op("IsInf", {x});
  const Expr no_number = format.has_nan ? x : number(-0.0);  // as ONNX's own tests have it
  result = Where(is_infinite, signed_beyond, Where(s.Op("IsNan", {x}), no_number, result));
  if (!format.has_negative_zero) result = result + 0.0;
  return result;
}

// The exponent alone: a power of two.
Expr RoundedPower(Scope& s, const Expr& x, bool saturate, const std::string& round_mode) {
  const Expr bits = s.Op("Bitcast", {x}, {{"type", DType::kInt32}});
  const Expr exponent = Exponent(s, x);
  Expr up;
  if (round_mode == "down") {
    up = Int(s, 0);
  } else if (round_mode == "nearest") {
    const Expr rest = s.Op("BitwiseAnd", {bits, Int(s, 0x7fffff)});
    const Expr is_half = s.Op("Equal", {rest, Int(s, 0x400000)});
    const Expr is_more = s.Op("Greater", {rest, Int(s, 0x400000)});
    const Expr is_normal = s.Op("Greater", {exponent, Int(s, 0)});
    up =
        Cast(s.Op("LogicalOr", {is_more, s.Op("LogicalAnd", {is_half, is_normal})}), DType::kInt32);
  } else {
    const Expr rest = s.Op("BitwiseAnd", {bits, Int(s, 0x7fffff)});
    up = Cast(s.Op("NotEqual", {rest, Int(s, 0)}), DType::kInt32);
  }
  Expr raised = exponent + up;
  if (saturate) raised = s.Op("Minimum", {raised, Int(s, 254)});
  // 2^-127 is below the smallest normal number.
  const Expr power =
      s.Scalar(DType::kFloat, 0.5) * PowerOfTwo(s, s.Op("Minimum", {raised + 1.0, Int(s, 254)}));
  const Expr top = PowerOfTwo(s, s.Op("Minimum", {raised, Int(s, 254)}));
  const Expr is_top = s.Op("GreaterEqual", {raised, Int(s, 254)});
  const Expr none = s.Scalar(DType::kFloat, kNaN);
  const Expr is_none = s.Op("Equal", {exponent, Int(s, 255)});
  return Where(is_none, none, Where(is_top, top, power));
}

// The lower four bits.
Expr Wrapped(Scope& s, const Expr& x, bool is_signed) {
  const Expr whole = Cast(x, DType::kInt32);
  const Expr low = s.Op("BitwiseAnd", {is_signed ? whole + 8.0 : whole, Int(s, 15)});
  return Cast(is_signed ? low - 8.0 : low, is_signed ? DType::kInt8 : DType::kUint8);
}

}  // namespace

std::optional<DType> NarrowCarrier(int elem_type) {
  if (elem_type == TensorProto::INT4) return DType::kInt8;
  if (elem_type == TensorProto::UINT4) return DType::kUint8;
  if (elem_type == TensorProto::FLOAT8E8M0 || FormatOf(elem_type) != nullptr) return DType::kFloat;
  return std::nullopt;
}

int NarrowBits(int elem_type) {
  const bool is_four = elem_type == TensorProto::INT4 || elem_type == TensorProto::UINT4 ||
                       elem_type == TensorProto::FLOAT4E2M1;
  return is_four ? 4 : 8;
}

double DecodeNarrow(int elem_type, uint8_t bits) {
  if (elem_type == TensorProto::UINT4) return bits & 15;
  if (elem_type == TensorProto::INT4) return (bits & 15) >= 8 ? (bits & 15) - 16 : bits & 15;
  if (elem_type == TensorProto::FLOAT8E8M0) return bits == 255 ? kNaN : std::ldexp(1.0, bits - 127);
  const Format* const format = FormatOf(elem_type);
  if (format == nullptr) return kNaN;
  if (const auto special = Special(elem_type, bits)) return *special;
  const int width = NarrowBits(elem_type);
  const int mantissa = bits & ((1 << format->mantissa_bits) - 1);
  const int exponent =
      (bits >> format->mantissa_bits) & ((1 << (width - 1 - format->mantissa_bits)) - 1);
  const double sign = (bits >> (width - 1)) & 1 ? -1 : 1;
  const int implied = exponent > 0 ? 1 << format->mantissa_bits : 0;
  const int power = std::max(exponent, 1) - format->bias - format->mantissa_bits;
  return sign * std::ldexp(implied + mantissa, power);
}

Expr Narrowed(Scope& s, const Expr& x, int elem_type, bool saturate,
              const std::string& round_mode) {
  if (s.failed()) return x;
  if (elem_type == TensorProto::INT4 || elem_type == TensorProto::UINT4)
    return Wrapped(s, x, elem_type == TensorProto::INT4);
  const Expr wide = Cast(x, DType::kFloat);
  if (elem_type == TensorProto::FLOAT8E8M0) return RoundedPower(s, wide, saturate, round_mode);
  const Format* const format = FormatOf(elem_type);
  return format == nullptr ? x : RoundedFloat(s, wide, *format, saturate);
}

}  // namespace gyre::onnx
