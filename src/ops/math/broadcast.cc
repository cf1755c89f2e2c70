#include "ops/math/broadcast.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

absl::Status Incompatible(absl::Span<const Shape* const> operands) {
  std::string message = "Incompatible shapes: ";
  for (size_t k = 0; k < operands.size(); ++k) {
    absl::StrAppend(&message, k == 0 ? "" : " vs. ", operands[k]->ToString());
  }
  return absl::InvalidArgumentError(message);
}

// Size of the dimension `from_end` places before the end (0: the last); 1 where the shape has none.
int64_t SizeFromEnd(const Shape& shape, int from_end) {
  return from_end < shape.rank() ? shape.dim(shape.rank() - 1 - from_end) : 1;
}

// Both dimensions may be walked as one: in every operand, a step of the outer is `inner.size` steps
// of the inner.
bool CanMerge(const BroadcastPlan::Dim& outer, const BroadcastPlan::Dim& inner) {
  for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.size) return false;
  }
  return true;
}

absl::StatusOr<Shape> ResultShape(absl::Span<const Shape* const> operands) {
  int rank = 0;
  for (const Shape* shape : operands) rank = std::max(rank, shape->rank());
  Dims sizes(rank, 1);
  for (int from_end = 0; from_end < rank; ++from_end) {
    int64_t& size = sizes[rank - 1 - from_end];
    for (const Shape* shape : operands) {
      const int64_t s = SizeFromEnd(*shape, from_end);
      if (s == 1 || s == size) continue;
      if (size != 1) return Incompatible(operands);
      size = s;
    }
  }
  return Shape::Make(sizes);
}

}  // namespace

absl::StatusOr<BroadcastPlan> PlanBroadcast(absl::Span<const Shape* const> operands) {
  BroadcastPlan plan;
  GYRE_ASSIGN_OR_RETURN(plan.shape, ResultShape(operands));
  if (plan.shape.num_elements() == 0) {
    plan.dims.push_back({0, {}});
    return plan;
  }
  // From here on no product can overflow: each divides the number of elements of a sound shape.
  BroadcastPlan::Offsets strides = {};  // of the operands' next dimension
  for (size_t k = 0; k < operands.size(); ++k) strides[k] = 1;
  for (int from_end = 0; from_end < plan.shape.rank(); ++from_end) {
    BroadcastPlan::Dim dim = {SizeFromEnd(plan.shape, from_end), {}};
    if (dim.size == 1) continue;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (SizeFromEnd(*operands[k], from_end) == 1) continue;
      dim.strides[k] = strides[k];
      strides[k] *= dim.size;
    }
    if (!plan.dims.empty() && CanMerge(dim, plan.dims.back())) {
      plan.dims.back().size *= dim.size;
    } else {
      plan.dims.push_back(dim);
    }
  }
  if (plan.dims.empty()) plan.dims.push_back({1, {}});
  std::reverse(plan.dims.begin(), plan.dims.end());
  return plan;
}

}  // namespace gyre
