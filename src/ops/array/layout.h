// Moving elements between differently laid out tensors: what slices, joins, transpositions, tiles,
// reversals, paddings and broadcasts come down to.
//
// Free functions without state; any thread. Elements are moved, never interpreted, so every dtype
// is welcome: numbers, strings, resources and variants.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// One axis of a copy. Strides are in elements: a source stride of 0 repeats an element, a negative
// stride walks backwards.
struct StridedAxis {
  int64_t size;
  int64_t src;
  int64_t dst;
};
// Outermost axis first; room for common ranks without allocating.
using StridedAxes = absl::InlinedVector<StridedAxis, 6>;

// Distance in elements between neighbours along each dimension.
Dims RowMajorStrides(const Shape& shape);

// Copies the element at src_offset + Σ index·axis.src to dst_offset + Σ index·axis.dst, for every
// index below the sizes of `axes`. In parallel when large; polls for cancellation.
// Requirements, not checked: equal dtypes, all offsets in range, no destination named twice.
absl::Status CopyStrided(const KernelContext& ctx, const Tensor& src, int64_t src_offset,
                         Tensor& dst, int64_t dst_offset, StridedAxes axes);

// Sets every element of `dst` to the first element of `value`, whose dtype is the same.
absl::Status FillWith(const KernelContext& ctx, const Tensor& value, Tensor& dst);

// Elements [begin, begin + n) along dimension 0, reshaped to `shape`. Large results share the
// buffer of `t`; small ones are copied, so that they don't keep a large buffer alive.
// Requirements, not checked: rank >= 1, in range, and `shape` has that many elements.
absl::StatusOr<Tensor> TakeRows(const KernelContext& ctx, const Tensor& t, int64_t begin, int64_t n,
                                const Shape& shape);

// Pieces of work below this many elements are not worth splitting.
inline constexpr int64_t kElementGrain = int64_t{1} << 15;

// ParallelRun that calls `body` directly when there is one piece.
template <typename Body>
absl::Status RunPieces(const KernelContext& ctx, int64_t n, int64_t grain, const Body& body) {
  if (n <= grain) {
    body(int64_t{0}, n);
    return absl::OkStatus();
  }
  return ctx.ParallelRun(n, grain, body);
}

}  // namespace gyre
