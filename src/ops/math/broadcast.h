// Broadcasting without copies: which elements of each operand meet, and in what stretches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"

namespace gyre {

// How up to three operands broadcast together. Neighbouring dimensions that every operand walks
// alike are merged, so that most broadcasts have one or two.
struct BroadcastPlan {
  static constexpr int kMaxOperands = 3;
  using Offsets = std::array<int64_t, kMaxOperands>;

  struct Dim {
    int64_t size;
    Offsets strides;  // in elements; 0: the operand is repeated
  };

  Shape shape;  // of the result
  // Outermost first, at least one. In the last one every stride is 0 or 1.
  absl::InlinedVector<Dim, 4> dims;
};

// INVALID_ARGUMENT ("Incompatible shapes: …") when two sizes of a dimension differ and neither is
// 1, or when the result has too many elements. Requirement, not checked: 1 to 3 shapes.
absl::StatusOr<BroadcastPlan> PlanBroadcast(absl::Span<const Shape* const> operands);

// Calls `body(offsets, position, n)` for the stretches that make up elements [begin, end) of the
// result, in order: `n` elements from `position` on, which operand i reads from offsets[i] on with
// its last stride.
template <typename Body>
void ForEachStretch(const BroadcastPlan& plan, int64_t begin, int64_t end, Body&& body) {
  if (begin >= end) return;
  const int last = static_cast<int>(plan.dims.size()) - 1;
  absl::InlinedVector<int64_t, 4> index(plan.dims.size());
  BroadcastPlan::Offsets offsets = {};
  int64_t rest = begin;
  for (int d = last; d >= 0; --d) {
    const BroadcastPlan::Dim& dim = plan.dims[d];
    index[d] = rest % dim.size;
    rest /= dim.size;
    for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k) offsets[k] += index[d] * dim.strides[k];
  }
  for (int64_t position = begin; position < end;) {
    const int64_t n = std::min(plan.dims[last].size - index[last], end - position);
    body(offsets, position, n);
    position += n;
    index[last] += n;
    for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k)
      offsets[k] += n * plan.dims[last].strides[k];
    for (int d = last; d > 0 && index[d] == plan.dims[d].size; --d) {
      const BroadcastPlan::Dim& inner = plan.dims[d];
      const BroadcastPlan::Dim& outer = plan.dims[d - 1];
      index[d] = 0;
      ++index[d - 1];
      for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k) {
        offsets[k] += outer.strides[k] - inner.size * inner.strides[k];
      }
    }
  }
}

}  // namespace gyre
