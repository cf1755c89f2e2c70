#include "ops/reduction/reduce.h"

#include <vector>

namespace gyre {

absl::StatusOr<ReducedDims> ReducedDimsOf(const Tensor& axes, int rank) {
  std::vector<int64_t> values;
  if (axes.dtype() == DType::kInt32) {
    const absl::Span<const int32_t> v = axes.values<int32_t>();
    values.assign(v.begin(), v.end());
  } else {
    const absl::Span<const int64_t> v = axes.values<int64_t>();
    values.assign(v.begin(), v.end());
  }
  return MakeReducedDims(values, rank);
}

absl::StatusOr<ReducedDims> AxesInput(const KernelContext& ctx) {
  return ReducedDimsOf(ctx.input(1), ctx.input(0).rank());
}

}  // namespace gyre
