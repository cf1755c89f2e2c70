// Sums, for the ops of other folders that need one.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"
#include "ops/reduction/axes.h"

namespace gyre {

// `tensor` summed over the dimensions marked in `reduced`. UNIMPLEMENTED when it does not hold
// numbers. Any thread.
absl::StatusOr<Tensor> SumOver(const KernelContext& ctx, const Tensor& tensor,
                               const ReducedDims& reduced, bool keep_dims);

}  // namespace gyre
