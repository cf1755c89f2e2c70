// What `x[a:b:c, ..., new_axis, i]` means: the rules that StridedSlice, its gradient and
// assignments to slices share.
//
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "ops/array/layout.h"
#include "ops/kernel.h"

namespace gyre {

// The bit masks of a slicing node: bit i speaks of element i of begin, end and strides.
struct SliceMasks {
  explicit SliceMasks(const Node& node);

  int64_t begin;        // begin[i] is ignored: from the start
  int64_t end;          // end[i] is ignored: up to the end
  int64_t ellipsis;     // element i stands for all dimensions not named
  int64_t new_axis;     // element i inserts a dimension of size 1
  int64_t shrink_axis;  // element i is an index: its dimension disappears
};

// A slice resolved against a shape.
struct SlicedShape {
  // One entry per dimension of the sliced tensor. `size` is -1 where it depends on what is unknown;
  // begin and stride are meaningful where it is not.
  struct Axis {
    int64_t begin = 0;
    int64_t stride = 1;
    int64_t size = -1;
    bool is_range = true;  // false: an index, which leaves no dimension behind
  };
  absl::InlinedVector<Axis, 4> axes;
  // The shape of the result: ranges in order, with new axes between them.
  PartialShape result;

  // Requirement: all sizes are known. The first element taken from a tensor with these strides.
  int64_t Offset(absl::Span<const int64_t> strides) const;
};

// Resolves begin, end and strides (equally long lists) against `shape`. Values that are not known
// yet may be absent, and dimensions of `shape` -1: then as much is said as can be.
// INVALID_ARGUMENT for what can never be right, such as an index out of range or a stride of 0.
// Requirement: shape.has_rank().
absl::StatusOr<SlicedShape> ResolveSlice(const PartialShape& shape, int length,
                                         std::optional<absl::Span<const int64_t>> begin,
                                         std::optional<absl::Span<const int64_t>> end,
                                         std::optional<absl::Span<const int64_t>> strides,
                                         const SliceMasks& masks);

// As ResolveSlice, from the inputs `first` (begin), first + 1 (end) and first + 2 (strides) of a
// node that runs.
absl::StatusOr<SlicedShape> ResolveSliceInputs(const KernelContext& ctx, int first,
                                               const Shape& shape, const SliceMasks& masks);

}  // namespace gyre
