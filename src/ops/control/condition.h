// What If, While and ToBool make of a condition, in every engine and pass.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/tensor.h"

namespace gyre {

// Of a scalar: whether the number is not zero, the string not empty. Of anything else: whether it
// has elements. INVALID_ARGUMENT for scalars that are neither true nor false: complex numbers,
// handles, variants.
absl::StatusOr<bool> Truth(const Tensor& condition);

}  // namespace gyre
