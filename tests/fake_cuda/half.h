// Half-precision numbers, which the host has no type for.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace fake_cuda {

struct Half {
  uint16_t bits;
};

inline float ToFloat(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
  const uint32_t exponent = h.bits >> 10 & 31, fraction = h.bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : std::ldexp(static_cast<float>(fraction | 0x400),
                                                     static_cast<int>(exponent) - 25);
  return sign != 0 ? -magnitude : magnitude;
}

// To nearest, ties to even.
inline Half ToHalf(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return {0x7FFF};
  const double a = std::fabs(x);
  if (a >= 65520) return {static_cast<uint16_t>(sign | 0x7C00)};
  int exponent = 0;
  std::frexp(a, &exponent);  // a = 0.1… * 2^exponent
  exponent = std::max(exponent - 11, -24);
  const auto fraction = static_cast<uint32_t>(std::nearbyint(std::ldexp(a, -exponent)));
  // A carry out of the fraction goes where it belongs.
  return {static_cast<uint16_t>(
      sign | (fraction < 0x400 ? fraction
                               : fraction - 0x400 + (static_cast<uint32_t>(exponent + 25) << 10)))};
}

}  // namespace fake_cuda
