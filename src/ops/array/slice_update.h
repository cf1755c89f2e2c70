// Slices of a tensor changed at index vectors: what TensorScatterUpdate and its kin share with the
// ops that do so to a variable.
//
// Free functions without state; any thread that may write the destination.
#pragma once

#include "absl/status/status.h"
#include "gyre/core/tensor.h"
#include "ir/shape_context.h"
#include "ops/array/nd_index.h"
#include "ops/kernel.h"

namespace gyre {

enum class SliceUpdate { kAssign, kAdd, kSub, kMin, kMax };

// INVALID_ARGUMENT unless updates.shape = indices.shape[:-1] + shape[depth:].
absl::Status CheckUpdates(const NdIndices& indices, const Shape& indices_shape,
                          const Shape& updates, const Shape& shape);

// Changes the slices of `out` in the order of the indices: the same bits on any number of threads.
// UNIMPLEMENTED where elements of this type can't be changed so; `out` is as it was then. Polls.
// Requirements, not checked: CheckUpdates is OK, the types are equal, `out` may be written.
absl::Status UpdateSlices(const KernelContext& ctx, SliceUpdate op, const NdIndices& indices,
                          const Tensor& updates, Tensor& out);

// Checks what is known of the shapes of indices and updates against a tensor of shape `shape`.
absl::Status CheckStaticUpdates(const PartialShape& indices, const PartialShape& updates,
                                const PartialShape& shape);

}  // namespace gyre
