// Kernels of softmaxes, which are written for GPUs (compiled/gpu/rows.h).
#pragma once

#include "devices/cuda/kernels.h"

namespace gyre::cuda {

// Of Softmax and LogSoftmax. Thread-safe.
MaybeKernel MakeSoftmaxKernel(const Node& node);

}  // namespace gyre::cuda
