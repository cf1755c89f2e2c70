// Kernels for NVIDIA's GPUs, as PTX: of elementwise ops, a loop around the function that computes
// single elements (ops/scalar_code.h); and those that are written for GPUs (compiled/gpu).
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiled/region.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

// What is asked for.
struct PtxRequest {
  const ScalarCode* code = nullptr;
  // If not null, in the place of `code`: the name of such a function that is written for GPUs.
  const char* function = nullptr;
  uint32_t num_inputs = 0;       // 1 to 3
  uint32_t input_bytes[3] = {};  // of an element: 1, 2, 4, 8 or 16
  uint32_t output_bytes = 0;
  // Takes the text.
  void (*take)(void* to, const char* text, size_t bytes) = nullptr;
  void* to = nullptr;
};

// The text of a module with one kernel, `gyre_elementwise`, whose only parameter is an
// ElementwiseTable (ops/elementwise_table.h); it computes what the machine's own code does, bit for
// bit but for which NaN a NaN is, and for functions of the C library, which are as
// compiled/gpu/math.h says. False if it cannot, and `error` has been told why: the function may
// have no result, or needs what a GPU has not. Thread-safe; throws nothing.
using PtxFn = bool (*)(const PtxRequest& request, CompileError* error);
bool MakePtx(const PtxRequest& request, CompileError* error);

struct GpuKernelRequest {
  const char* name = nullptr;  // of the kernel, as compiled/gpu has it
  // As PtxRequest's.
  void (*take)(void* to, const char* text, size_t bytes) = nullptr;
  void* to = nullptr;
};

// The text of a module with this kernel. False if there is none of this name; otherwise as MakePtx.
using GpuKernelFn = bool (*)(const GpuKernelRequest& request, CompileError* error);
bool MakeGpuKernel(const GpuKernelRequest& request, CompileError* error);

}  // namespace gyre::compiled
