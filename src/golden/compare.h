// Comparing a tensor with the one that was expected. Stateless; any thread.
#pragma once

#include <optional>
#include <string>

#include "golden/case.h"
#include "gyre/core/tensor.h"

namespace gyre::golden {

// Nullopt when `got` is what was wanted: equal in dtype and shape, and element by element equal
// (integers, bools, strings) or within the tolerance (floats; complex by absolute value; nan equals
// nan, infinities by sign). Otherwise a sentence: the first element that differs, how many do, and
// the largest error.
std::optional<std::string> Difference(const Tensor& got, const Tensor& want, Tolerance tolerance);

// Equal in dtype, shape and every bit of the elements; objects (resources, variants) are equal
// where there is one in both, and so are two tensors without a value.
bool SameBits(const Tensor& a, const Tensor& b);

}  // namespace gyre::golden
