#include "ops/collective/combine.h"

#include <algorithm>
#include <type_traits>

#include "ops/dispatch.h"

namespace gyre {
namespace {

using MergedTypes = Types<float, double, Half, BFloat16, int32_t, int64_t>;

// Small floats are computed as float, and rounded after each rank.
template <typename T, typename F>
void ForEach(void* into, const void* more, int64_t n, F merge) {
  T* const a = static_cast<T*>(into);
  const T* const b = static_cast<const T*>(more);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsSmallFloat<T>) {
      a[i] = T(merge(static_cast<float>(a[i]), static_cast<float>(b[i])));
    } else if constexpr (std::is_integral_v<T>) {  // wraps around
      using U = std::make_unsigned_t<T>;
      a[i] = static_cast<T>(merge(static_cast<U>(a[i]), static_cast<U>(b[i])));
    } else {
      a[i] = merge(a[i], b[i]);
    }
  }
}

// Signed numbers are compared as what they are.
template <typename T, typename F>
void ForEachAsIs(void* into, const void* more, int64_t n, F choose) {
  T* const a = static_cast<T*>(into);
  const T* const b = static_cast<const T*>(more);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsSmallFloat<T>) {
      a[i] = T(choose(static_cast<float>(a[i]), static_cast<float>(b[i])));
    } else {
      a[i] = choose(a[i], b[i]);
    }
  }
}

template <typename T>
void Merge(MergeOp merge, void* into, const void* more, int64_t n) {
  switch (merge) {
    case MergeOp::kAdd:
      return ForEach<T>(into, more, n, [](auto a, auto b) { return a + b; });
    case MergeOp::kMul:
      return ForEach<T>(into, more, n, [](auto a, auto b) { return a * b; });
    case MergeOp::kMin:  // of NaN and a number, NaN
      return ForEachAsIs<T>(into, more, n, [](auto a, auto b) { return a < b || a != a ? a : b; });
    case MergeOp::kMax:
      return ForEachAsIs<T>(into, more, n, [](auto a, auto b) { return a > b || a != a ? a : b; });
  }
}

}  // namespace

absl::Status MergeInto(MergeOp merge, DType dtype, void* into, const void* more, int64_t n) {
  return VisitType<MergedTypes>(dtype, [&](auto tag) {
    Merge<typename decltype(tag)::type>(merge, into, more, n);
    return absl::OkStatus();
  });
}

absl::Status DivideBy(DType dtype, int count, void* into, int64_t n) {
  return VisitType<MergedTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const values = static_cast<T*>(into);
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (kIsSmallFloat<T>) {
        values[i] = T(static_cast<float>(values[i]) / static_cast<float>(count));
      } else {
        values[i] /= static_cast<T>(count);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace gyre
