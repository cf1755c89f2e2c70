// How often a For runs its body.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"

namespace gyre {

// The number of values start, start + delta, … before limit, all int32. INVALID_ARGUMENT when they
// are no scalars, or delta leads away from limit.
absl::StatusOr<int64_t> CountIterations(const Tensor& start, const Tensor& limit,
                                        const Tensor& delta);

}  // namespace gyre
