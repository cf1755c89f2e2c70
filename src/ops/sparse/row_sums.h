// Rows added up, in steps whose length is known when this is compiled: those become vector code.
#pragma once

#include <cstdint>

#include "ops/reduction/numeric.h"

namespace gyre {

inline constexpr int64_t kRowStep = 16;

// sums[i] += row[i], for n elements.
template <typename T>
void AddRow(const T* __restrict row, int64_t n, Accumulator<T>* __restrict sums) {
  int64_t i = 0;
  for (; i + kRowStep <= n; i += kRowStep) {
    for (int64_t k = 0; k < kRowStep; ++k) sums[i + k] += ToAccumulator(row[i + k]);
  }
  for (; i < n; ++i) sums[i] += ToAccumulator(row[i]);
}

// sums[i] += factor row[i].
template <typename T>
void AddScaledRow(Accumulator<T> factor, const T* __restrict row, int64_t n,
                  Accumulator<T>* __restrict sums) {
  int64_t i = 0;
  for (; i + kRowStep <= n; i += kRowStep) {
    for (int64_t k = 0; k < kRowStep; ++k)
      sums[i + k] += Product(factor, ToAccumulator(row[i + k]));
  }
  for (; i < n; ++i) sums[i] += Product(factor, ToAccumulator(row[i]));
}

}  // namespace gyre
