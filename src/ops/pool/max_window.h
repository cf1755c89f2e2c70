// The largest of what a window meets, and where it stands.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/nn/map_elements.h"
#include "ops/pool/pool.h"

namespace gyre {

// Whether `x` takes the place of `best`: the first of equal numbers stays, and so does a NaN.
template <typename T>
bool IsLarger(Computed<T> x, Computed<T> best) {
  if constexpr (std::is_integral_v<T>) {
    return x > best;
  } else {
    return !(x <= best) & (best == best);
  }
}

// Channels [c0, c0 + n) of the largest pixels of a range of an image, and their elements in it.
// Requirement: the range is not empty. Stops half-way, and says false, when the run is to stop.
template <typename T>
bool FindLargest(const Pooling& pooling, const T* image, const WindowRange& range, int64_t c0,
                 int64_t n, Looks& looks, T* best, int64_t* at) {
  bool is_first = true, goes_on = true;
  ForRange(range, pooling.axes[1].input, pooling.axes[2].input, [&](int64_t pixel) {
    const int64_t offset = pixel * pooling.channels + c0;
    const T* x = image + offset;
    if (is_first) {
      is_first = false;
      for (int64_t c = 0; c < n; ++c) {
        best[c] = x[c];
        at[c] = offset + c;
      }
    } else {
      for (int64_t c = 0; c < n; ++c) {
        const bool larger =
            IsLarger<T>(static_cast<Computed<T>>(x[c]), static_cast<Computed<T>>(best[c]));
        best[c] = larger ? x[c] : best[c];
        at[c] = larger ? offset + c : at[c];
      }
    }
    return goes_on = looks.GoOn(n);
  });
  return goes_on;
}

}  // namespace gyre
