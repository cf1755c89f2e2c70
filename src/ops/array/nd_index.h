// Index vectors that point into the leading dimensions of a tensor: what GatherNd, ScatterNd and
// their relatives share.
//
// Free functions without state; any thread.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ir/batch_context.h"
#include "ops/kernel.h"

namespace gyre {

// The attribute `bad_indices_policy` of a node: what to do with an index out of range.
struct BadIndices {
  static absl::StatusOr<BadIndices> Make(const Node& node);
  bool ignore = false;
};

// Where the index vectors (rows of the last dimension of a tensor of indices) point to.
struct NdIndices {
  Tensor offsets;          // int64 [count]: first element of the slice; -1: out of range, ignored
  int64_t count = 0;       // number of index vectors
  int depth = 0;           // length of an index vector: dimensions that it fixes
  int64_t slice_size = 1;  // elements of the slice it points to
  Dims batch_dims;         // of the indices, without the last
  Dims slice_dims;         // of a slice
};

// Resolves `indices` against `shape`. INVALID_ARGUMENT when they are out of range and may not be
// ignored ("indices[0] = [7] does not index into shape [4]"), or longer than the rank of `shape`.
absl::StatusOr<NdIndices> ResolveNdIndices(const KernelContext& ctx, const Tensor& indices,
                                           const Shape& shape, BadIndices policy);

// For batching rules: index vectors, input i, with the number of the row in front. Requirement: the
// rank of input i is known.
Expr IndicesWithRow(BatchContext& c, int i);

}  // namespace gyre
