// The type in which numbers of type T are added and multiplied, and how they get there and back.
//
// Integers wrap around, as two's complement does: they are computed with as uint64_t, where that is
// defined. Half and bfloat16 are computed with as float.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "gyre/core/dtype.h"
#include "ops/dispatch.h"

namespace gyre {

template <typename T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                       std::conditional_t<kIsSmallFloat<T>, float, T>>;

template <typename T>
Accumulator<T> ToAccumulator(T value) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    return static_cast<Accumulator<T>>(value);
  }
}

template <typename T>
T FromAccumulator(Accumulator<T> value) {
  return static_cast<T>(value);
}

template <typename T>
T Product(T a, T b) {
  return a * b;
}
// The textbook formula. std::complex's operator also repairs infinities, at several times the cost.
template <typename T>
std::complex<T> Product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The mean of `count` numbers that add up to `sum`: integers are rounded towards zero; the mean of
// nothing is NaN where there is one, else 0.
template <typename T>
T MeanOf(Accumulator<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return count == 0 ? T{0} : static_cast<T>(static_cast<int64_t>(sum) / count);
  } else if constexpr (std::is_integral_v<T>) {
    return count == 0 ? T{0} : static_cast<T>(sum / static_cast<uint64_t>(count));
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return count == 0 ? T{} : sum / static_cast<typename T::value_type>(count);
  } else {
    return static_cast<T>(sum / static_cast<Accumulator<T>>(count));
  }
}

}  // namespace gyre
