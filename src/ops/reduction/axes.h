// Which dimensions a reduction runs over, and how the input's memory looks from there.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"

namespace gyre {

// For each dimension, whether it is reduced.
using ReducedDims = absl::InlinedVector<bool, 8>;

// From axes, perhaps negative. INVALID_ARGUMENT for one out of range or named twice.
absl::StatusOr<ReducedDims> MakeReducedDims(absl::Span<const int64_t> axes, int rank);

// The shape that is left: reduced dimensions are 1 (`keep_dims`) or gone.
Shape ReducedShape(const Shape& shape, const ReducedDims& reduced, bool keep_dims);

// Every reduced dimension has size 1: the elements stay what they are.
bool ReducesNothing(const Shape& shape, const ReducedDims& reduced);

// The shape rule of ops with inputs (input, reduction_indices) and the attribute keep_dims.
absl::Status ReductionShape(ShapeContext& c);

// The input of a reduction as alternating kept and reduced runs of dimensions. The innermost run is
// contiguous memory; of the others, `kept` ones enumerate the rows of the output and `reduced` ones
// the steps that add up to a row.
struct ReductionPlan {
  struct Run {
    int64_t size;
    int64_t stride;  // in elements of the input
  };
  using Runs = absl::InlinedVector<Run, 4>;

  ReductionPlan(const Shape& shape, const ReducedDims& reduced);

  Runs kept;
  Runs reduced;
  bool inner_reduced = false;  // the innermost run is one of the reduced
  int64_t inner = 1;           // its size
  int64_t rows = 1;            // product of `kept`
  int64_t steps = 1;           // product of `reduced`

  // Elements that are reduced into one.
  int64_t count() const { return inner_reduced ? steps * inner : steps; }
  // Elements of the output that one row holds.
  int64_t width() const { return inner_reduced ? 1 : inner; }

  // Where row `row` begins, and how far from there step `step` is.
  int64_t RowOffset(int64_t row) const { return Offset(kept, row); }
  int64_t StepOffset(int64_t step) const { return Offset(reduced, step); }

 private:
  static int64_t Offset(const Runs& runs, int64_t index);
};

}  // namespace gyre
