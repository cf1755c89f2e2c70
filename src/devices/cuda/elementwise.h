// Kernels of elementwise ops: a loop around the function with which the CPU's kernels compute one
// element (ops/scalar_code.h), generated for GPUs. So they compute what these do, bit for bit but
// for which NaN a NaN is; functions of the C library, as exp, are GPUs' own (compiled/gpu/math.h).
// Ops that need others, or that may fail, have none.
#pragma once

#include "devices/cuda/kernels.h"

namespace gyre::cuda {

// Of elementwise ops. It puts work into the device's compute stream. Thread-safe.
MaybeKernel MakeElementwiseKernel(const Node& node);

}  // namespace gyre::cuda
