// Sums, for the ops of other folders that need one.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "ops/dense_code.h"
#include "ops/kernel.h"
#include "ops/reduction/axes.h"

namespace gyre {

// `tensor` summed over the dimensions marked in `reduced`. UNIMPLEMENTED when it does not hold
// numbers. Any thread.
absl::StatusOr<Tensor> SumOver(const KernelContext& ctx, const Tensor& tensor,
                               const ReducedDims& reduced, bool keep_dims);

// The same of tensors of this type and shape, for Kernel::dense.
std::optional<DenseCode> DenseSumOver(DType dtype, const Shape& shape, const ReducedDims& reduced);

}  // namespace gyre
