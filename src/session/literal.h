// Numbers written in C++ as constants of the type that an op needs. Stateless.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"

namespace gyre::internal {

// The same numbers as elements of `dtype`. Floating-point types round; INVALID_ARGUMENT when a
// number has no such value: a fraction as an integer, 300 as an int8, a text as a number.
absl::StatusOr<Tensor> ConvertLiteral(const Tensor& literal, DType dtype);

// Which of two types holds the values of both literals better: floating point rather than integer,
// anything rather than bool; else the first.
DType CommonType(DType a, DType b);

}  // namespace gyre::internal
