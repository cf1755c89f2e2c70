// Values of every kind that may travel between processes. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/tensor.h"

namespace gyre::test {

// Of this type and shape; its elements follow from `seed`.
Tensor Sample(DType dtype, const Shape& shape, uint64_t seed);
// Every type that has a wire form, each with ranks 0 to 6, and without elements; then lists,
// optionals and what they hold.
std::vector<Tensor> Samples();
// A list of these; a value that is none is not stored.
Tensor ListOf(DType dtype, std::vector<Tensor> elements);
// An optional that holds them.
Tensor SomeOf(std::vector<Tensor> components);
// Equal type, shape and elements, those of lists and optionals included.
bool IsSame(const Tensor& a, const Tensor& b);

}  // namespace gyre::test
