// Sparse tensors in coordinate form, as ops take them: indices [n, rank], values [n], shape [rank].
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"

namespace gyre {

struct SparseInput {
  const int64_t* indices;
  int64_t n;
  absl::Span<const int64_t> shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  const int64_t* row(int64_t i) const { return indices + i * rank(); }
};

// Inputs at these places. INVALID_ARGUMENT, with names that begin with `prefix`, unless they fit
// together, the shape is one, and (`in_range`) each index lies in it.
absl::StatusOr<SparseInput> SparseInputAt(const KernelContext& ctx, int indices, int values,
                                          int shape, absl::string_view prefix,
                                          bool in_range = true);

// <0, 0, >0 as row x comes before, with, or after row y.
inline int CompareRows(const int64_t* x, const int64_t* y, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
  }
  return 0;
}

// How the rows stand in row-major order; equal ones in the order that they have.
absl::StatusOr<std::vector<int64_t>> SortedOrder(const KernelContext& ctx,
                                                 const SparseInput& sparse);

// A matrix of so many rows of indices, a vector of integers.
absl::StatusOr<Tensor> NewIndices(const KernelContext& ctx, int64_t n, int64_t rank);
absl::StatusOr<Tensor> ShapeVector(const KernelContext& ctx, absl::Span<const int64_t> dims);

// Row-major distances of the elements of a dense tensor of this shape. Requirement: it is a
// Shape's.
Dims StridesOf(absl::Span<const int64_t> shape);

// For shape rules: indices, values and shape at these inputs have ranks 2, 1, 1.
absl::Status RequireSparse(ShapeContext& c, int indices, int values, int shape);
// The rank of a sparse tensor whose indices and shape stand there; -1: not known.
int64_t KnownSparseRank(const ShapeContext& c, int indices, int shape);
// Output `i` and the two behind it: a sparse tensor of this rank and as many values.
void SetSparse(ShapeContext& c, int i, int64_t n, int64_t rank);

}  // namespace gyre
