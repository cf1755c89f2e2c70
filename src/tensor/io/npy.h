// NumPy's .npy format: one tensor in a file (https://numpy.org/neps/nep-0001-npy-format.html).
//
// Reads versions 1 to 3, either byte order, C and Fortran order. Numbers and bools only: strings,
// objects and structured types are refused, and so is bfloat16, which NumPy has no code for
// (safetensors has).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"

namespace gyre {

// INVALID_ARGUMENT, saying what is wrong, for anything but a sound file; never reads beyond it and
// never allocates more than it holds.
absl::StatusOr<Tensor> ReadNpy(const std::string& path, Tensor::Alloc alloc = {});

// INVALID_ARGUMENT when the format has no name for the tensor's dtype.
absl::Status WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace gyre
