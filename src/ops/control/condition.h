// What If, Case, While and ToBool make of a condition or an index, in every engine and pass.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "ir/calls.h"

namespace gyre {

// Of a scalar: whether the number is not zero, the string not empty. Of anything else: whether it
// has elements. INVALID_ARGUMENT for scalars that are neither true nor false: complex numbers,
// handles, variants.
absl::StatusOr<bool> Truth(const Tensor& condition);

// Which of its `num_functions` functions a structured node runs whose selector has this value: that
// of a predicate or of an index. INVALID_ARGUMENT when it is none.
absl::StatusOr<int> ChosenFunction(Selector selector, const Tensor& value, int num_functions);

}  // namespace gyre
