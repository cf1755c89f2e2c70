// What segment reductions do with one row: shared by the sorted and the unsorted ones.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/reduction/numeric.h"

namespace gyre {

enum class SegmentCombine { kSum, kMean, kProd, kMax, kMin };

// The result of a segment without rows: the neutral element, where it is representable (the extrema
// use the largest and the smallest finite value).
template <typename T, SegmentCombine kCombine>
T SegmentIdentity() {
  if constexpr (kCombine == SegmentCombine::kSum || kCombine == SegmentCombine::kMean) {
    return T{};
  } else if constexpr (kCombine == SegmentCombine::kProd) {
    return FromAccumulator<T>(Accumulator<T>{1});
  } else if constexpr (std::is_same_v<T, Half>) {
    return T(kCombine == SegmentCombine::kMax ? -65504.0f : 65504.0f);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    T value;
    value.bits = kCombine == SegmentCombine::kMax ? 0xff7f : 0x7f7f;
    return value;
  } else {
    using Limits = std::numeric_limits<T>;
    return kCombine == SegmentCombine::kMax ? Limits::lowest() : Limits::max();
  }
}

template <typename T, SegmentCombine kCombine>
Accumulator<T> CombineIntoSegment(Accumulator<T> acc, T value) {
  const Accumulator<T> x = ToAccumulator(value);
  if constexpr (kCombine == SegmentCombine::kSum || kCombine == SegmentCombine::kMean) {
    return acc + x;
  } else if constexpr (kCombine == SegmentCombine::kProd) {
    return Product(acc, x);
  } else {
    // Accumulators of integers are unsigned: compare as T. A NaN stays.
    using C = std::conditional_t<std::is_integral_v<T>, T, Accumulator<T>>;
    const C a = static_cast<C>(acc);
    const C b = static_cast<C>(x);
    const bool keep = kCombine == SegmentCombine::kMax ? a > b : a < b;
    return keep || a != a ? acc : x;
  }
}

}  // namespace gyre
