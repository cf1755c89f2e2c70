// Kernels that move elements or say what shapes are: those of the CPU, whose elements are where
// they are (ops/device_memory.h).
#pragma once

#include "devices/cuda/kernels.h"

namespace gyre::cuda {

// Of Reshape, Transpose, Concat and their like, and of Shape and its like, whose results are the
// host's. Thread-safe.
MaybeKernel MakeMoveKernel(const Node& node);

// What kernels of the CPU do to elements on CUDA devices, from then on.
void UseCudaMemory();

}  // namespace gyre::cuda
