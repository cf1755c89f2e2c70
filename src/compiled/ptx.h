// Elementwise kernels for NVIDIA's GPUs, as PTX: a loop around the function that computes single
// elements (ops/scalar_code.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiled/region.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

// What is asked for.
struct PtxRequest {
  const ScalarCode* code = nullptr;
  uint32_t num_inputs = 0;       // 1 to 3
  uint32_t input_bytes[3] = {};  // of an element: 1, 2, 4, 8 or 16
  uint32_t output_bytes = 0;
  // Takes the text.
  void (*take)(void* to, const char* text, size_t bytes) = nullptr;
  void* to = nullptr;
};

// The text of a module with one kernel, `gyre_elementwise`, whose only parameter is an
// ElementwiseTable (devices/cuda/elementwise.h); it computes what the machine's own code does, bit
// for bit but for which NaN a NaN is. False if it cannot, and `error` has been told why: the
// function may have no result, or needs what a GPU has not, as functions of the C library.
// Thread-safe; throws nothing.
using PtxFn = bool (*)(const PtxRequest& request, CompileError* error);
bool MakePtx(const PtxRequest& request, CompileError* error);

}  // namespace gyre::compiled
