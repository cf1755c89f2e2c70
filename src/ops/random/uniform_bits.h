// Numbers from random bits, as TensorFlow makes them: what all its distributions start from.
//
// Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gyre/core/dtype.h"

namespace gyre {

// Numbers of [0, 1): a mantissa under the exponent of 1, less 1.
inline float UniformFloat(uint32_t bits) {
  const uint32_t u = (uint32_t{127} << 23) | (bits & 0x7fffffu);
  float value;
  std::memcpy(&value, &u, sizeof(value));
  return value - 1.0f;
}

inline double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t u = (uint64_t{1023} << 52) | (static_cast<uint64_t>(high & 0xfffffu) << 32) | low;
  double value;
  std::memcpy(&value, &u, sizeof(value));
  return value - 1.0;
}

// T: float, Half or BFloat16.
template <typename T>
T UniformOf(uint32_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    return UniformFloat(bits);
  } else {
    T value;
    value.bits = static_cast<uint16_t>(std::is_same_v<T, Half> ? (15 << 10) | (bits & 0x3ffu)
                                                               : (127 << 7) | (bits & 0x7fu));
    return T(static_cast<float>(value) - 1.0f);
  }
}

// Two independent normal numbers from two uniform ones (Box and Muller, 1958).
template <typename F>
void BoxMuller(F u1, F u2, F* out) {
  constexpr F kEpsilon = static_cast<F>(1.0e-7);  // keeps the logarithm finite
  const F radius = std::sqrt(F{-2} * std::log(std::max(u1, kEpsilon)));
  const F angle = static_cast<F>(2 * M_PI * u2);  // the peer rounds the product, not the factors
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

}  // namespace gyre
