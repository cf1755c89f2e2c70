// Putting tensors one after another: what stacking and concatenating the elements of lists and
// arrays come down to.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// A tensor of this dtype and shape whose elements are those of `parts`, in order. A part without a
// value stands for `missing` zeros (empty strings, null objects). Polls for cancellation.
// Requirements, not checked: every part is of `dtype`; the numbers of elements add up.
absl::StatusOr<Tensor> JoinParts(const KernelContext& ctx, DType dtype, const Shape& shape,
                                 absl::Span<const Tensor> parts, int64_t missing = 0);

}  // namespace gyre
