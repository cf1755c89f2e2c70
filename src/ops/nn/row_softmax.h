// The numerically safe softmax of one row, shared by the softmaxes and the cross entropies.
//
// Rows are walked in tiles, so that the memory needed does not grow with them, and always in the
// same order. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/math/simd.h"
#include "ops/reduction/numeric.h"

namespace gyre {

// The type in which rows of T are computed.
template <typename T>
using RowType = std::conditional_t<kIsSmallFloat<T>, float, T>;

// `n` elements of a row; all of them the same one when `stride` is 0.
template <typename T>
struct SoftmaxRow {
  const T* data;
  int64_t stride;
  int64_t n;

  RowType<T> operator[](int64_t j) const { return static_cast<RowType<T>>(data[j * stride]); }
};

template <typename T>
RowType<T> MaxOf(const SoftmaxRow<T>& row) {
  RowType<T> max = -std::numeric_limits<RowType<T>>::infinity();
  for (int64_t j = 0; j < row.n; ++j) max = std::max(max, row[j]);
  return max;
}

// Sum in a fixed order, in lanes that a vector unit can hold.
template <typename F>
F SumOf(const F* x, int64_t n) {
  constexpr int64_t kLanes = 8;
  F lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += x[i + j];
  }
  for (int64_t j = 0; i < n; ++i, ++j) lanes[j] += x[i];
  for (int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (int64_t j = 0; j < step; ++j) lanes[j] += lanes[j + step];
  }
  return lanes[0];
}

// Calls visit(begin, count, exps) for tiles of the row, with exps[j] = exp(row[begin + j] - max).
// Where the maximum is infinite there are NaNs among them.
template <typename T, typename Visit>
void ForExponentials(const SoftmaxRow<T>& row, RowType<T> max, const Visit& visit) {
  constexpr int64_t kTile = 512;
  static const UnaryRow exponentiate = simd::FindRow(simd::UnaryOp::kExp, DTypeOf<RowType<T>>);
  RowType<T> exps[kTile];
  for (int64_t begin = 0; begin < row.n; begin += kTile) {
    const int64_t count = std::min(kTile, row.n - begin);
    for (int64_t j = 0; j < count; ++j) exps[j] = row[begin + j] - max;
    exponentiate(exps, exps, count);
    visit(begin, count, exps);
  }
}

// The sum of exp(row[j] - max). Where T needs no conversion, `exps` is filled with the summands.
template <typename T>
RowType<T> SumExponentials(const SoftmaxRow<T>& row, RowType<T> max, T* exps) {
  RowType<T> sum = 0;
  ForExponentials(row, max, [&](int64_t begin, int64_t count, const RowType<T>* tile) {
    sum += SumOf(tile, count);
    if constexpr (!kIsSmallFloat<T>) std::copy_n(tile, count, exps + begin);
  });
  return sum;
}

// After SumExponentials: out[j] = exp(row[j] - max) / sum, where `out` is its `exps`.
template <typename T>
void Normalize(const SoftmaxRow<T>& row, RowType<T> max, RowType<T> sum, T* out) {
  if constexpr (kIsSmallFloat<T>) {
    ForExponentials(row, max, [&](int64_t begin, int64_t count, const RowType<T>* tile) {
      for (int64_t j = 0; j < count; ++j) out[begin + j] = static_cast<T>(tile[j] / sum);
    });
  } else {
    for (int64_t j = 0; j < row.n; ++j) out[j] /= sum;
  }
}

// Elements of softmax worth a piece of work of their own.
inline constexpr int64_t kSoftmaxGrain = 8192;

}  // namespace gyre
