// Kernels of reductions, which are written for GPUs (compiled/gpu/reduce.h).
#pragma once

#include "devices/cuda/kernels.h"

namespace gyre::cuda {

// Of Sum, Mean, Prod, Max, Min, All and Any. What a result is made of is combined in an order that
// depends on sizes alone, and is not the CPU's: integers and booleans have its bits, Max and Min
// too; sums and products of floats differ by rounding. A result that is a scalar is the host's, and
// the thread waits for it. Thread-safe.
MaybeKernel MakeReductionKernel(const Node& node);

}  // namespace gyre::cuda
