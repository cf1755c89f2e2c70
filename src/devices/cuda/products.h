// Kernels of matrix products, by cuBLAS.
#pragma once

#include "devices/cuda/kernels.h"

namespace gyre::cuda {

// Of MatMul, _MatMulAdd, BatchMatMul and BatchMatMulV2. None of other types than cuBLAS's, and none
// without it. Thread-safe.
MaybeKernel MakeProductKernel(const Node& node);

}  // namespace gyre::cuda
