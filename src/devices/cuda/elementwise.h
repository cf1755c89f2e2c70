// Kernels of elementwise ops: a loop around the function with which the CPU's kernels compute one
// element (ops/scalar_code.h), generated for GPUs. So they compute what these do, bit for bit but
// for which NaN a NaN is. Ops whose function needs another of the host's (exp, tanh), or that may
// fail, have none.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/kernel.h"

namespace gyre::cuda {

// The code generator: a module as PTX, with one kernel, gyre_elementwise, that takes an
// ElementwiseTable (ops/elementwise_table.h). Bytes are those of elements. UNIMPLEMENTED, saying
// why, where there is no such kernel.
using PtxMaker = absl::StatusOr<std::string> (*)(const ScalarCode& code,
                                                 absl::Span<const size_t> input_bytes,
                                                 size_t output_bytes);

// The process's, from then on: a layer above this one has it. Thread-safe.
void UsePtxMaker(PtxMaker maker);

// The kernel of an elementwise op on CUDA devices. UNIMPLEMENTED, saying why, where there is none.
// It puts work into the device's compute stream; what it is made of is kept until that is done.
// Thread-safe.
absl::StatusOr<Kernel> MakeElementwiseKernel(const Node& node);

}  // namespace gyre::cuda
