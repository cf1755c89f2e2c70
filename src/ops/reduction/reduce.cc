#include "ops/reduction/reduce.h"

#include <vector>

namespace gyre {

absl::StatusOr<ReducedDims> AxesInput(const KernelContext& ctx) {
  const Tensor& axes = ctx.input(1);
  std::vector<int64_t> values;
  if (axes.dtype() == DType::kInt32) {
    const absl::Span<const int32_t> v = axes.values<int32_t>();
    values.assign(v.begin(), v.end());
  } else {
    const absl::Span<const int64_t> v = axes.values<int64_t>();
    values.assign(v.begin(), v.end());
  }
  return MakeReducedDims(values, ctx.input(0).rank());
}

}  // namespace gyre
