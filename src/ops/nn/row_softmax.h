// The numerically safe softmax of one row, shared by the softmaxes and the cross entropies.
//
// Rows are walked in tiles, so that the memory needed does not grow with them, and always in the
// same order. Long ones end half-way, with no result, once `must_stop` says so. Pure functions; any
// thread.
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

// Of rows that are short: nobody need be asked.
struct NeverStops {
  bool operator()() const { return false; }
};

// Calls part(begin, end) for one stretch of a row of n after the other, and asks in between.
template <typename MustStop, typename Part>
void InStretches(int64_t n, const MustStop& must_stop, const Part& part) {
  constexpr int64_t kStretch = int64_t{1} << 16;
  for (int64_t begin = 0; begin < n; begin += kStretch) {
    if (begin > 0 && must_stop()) return;
    part(begin, std::min(n, begin + kStretch));
  }
}

template <typename T, typename MustStop>
RowType<T> MaxOf(const SoftmaxRow<T>& row, const MustStop& must_stop) {
  RowType<T> max = -std::numeric_limits<RowType<T>>::infinity();
  InStretches(row.n, must_stop, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) max = std::max(max, row[j]);
  });
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
template <typename T, typename MustStop, typename Visit>
void ForExponentials(const SoftmaxRow<T>& row, RowType<T> max, const MustStop& must_stop,
                     const Visit& visit) {
  constexpr int64_t kTile = 512;
  static const UnaryRow exponentiate = simd::FindRow(simd::UnaryOp::kExp, DTypeOf<RowType<T>>);
  RowType<T> exps[kTile];
  InStretches(row.n, must_stop, [&](int64_t first, int64_t end) {
    for (int64_t begin = first; begin < end; begin += kTile) {
      const int64_t count = std::min(kTile, end - begin);
      for (int64_t j = 0; j < count; ++j) exps[j] = row[begin + j] - max;
      exponentiate(exps, exps, count);
      visit(begin, count, exps);
    }
  });
}

// The sum of exp(row[j] - max). Where T needs no conversion, `exps` is filled with the summands.
template <typename T, typename MustStop>
RowType<T> SumExponentials(const SoftmaxRow<T>& row, RowType<T> max, const MustStop& must_stop,
                           T* exps) {
  RowType<T> sum = 0;
  ForExponentials(row, max, must_stop, [&](int64_t begin, int64_t count, const RowType<T>* tile) {
    sum += SumOf(tile, count);
    if constexpr (!kIsSmallFloat<T>) std::copy_n(tile, count, exps + begin);
  });
  return sum;
}

// After SumExponentials: out[j] = exp(row[j] - max) / sum, where `out` is its `exps`.
template <typename T, typename MustStop>
void Normalize(const SoftmaxRow<T>& row, RowType<T> max, RowType<T> sum, const MustStop& must_stop,
               T* out) {
  if constexpr (kIsSmallFloat<T>) {
    ForExponentials(row, max, must_stop, [&](int64_t begin, int64_t count, const RowType<T>* tile) {
      for (int64_t j = 0; j < count; ++j) out[begin + j] = static_cast<T>(tile[j] / sum);
    });
  } else {
    InStretches(row.n, must_stop, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) out[j] /= sum;
    });
  }
}

// Elements of softmax worth a piece of work of their own.
inline constexpr int64_t kSoftmaxGrain = 8192;

}  // namespace gyre
