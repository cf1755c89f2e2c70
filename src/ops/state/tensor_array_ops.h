// What the ops on TensorArrays share.
#pragma once

#include "ir/shape_context.h"
#include "ops/kernel.h"
#include "ops/state/tensor_array.h"

namespace gyre {

// The array at input 0. INVALID_ARGUMENT unless its elements are of type `dtype`.
absl::StatusOr<TensorArrayObject*> TensorArrayInput(const KernelContext& ctx, DType dtype);

// For shape rules: what is known of the elements of the array at input 0, which the op takes to be
// of type `dtype`. INVALID_ARGUMENT when it is known to be of another.
absl::StatusOr<PartialShape> TensorArrayElementShape(const ShapeContext& c, DType dtype);

}  // namespace gyre
