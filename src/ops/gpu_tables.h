// What kernels of the GPU's library (src/compiled/gpu) are told of one call: who writes them and
// who calls them (src/devices/cuda) agree on it. No header of the C++ library: it is compiled for
// GPUs, too.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gyre {

// A stretch of neighbouring dimensions that are walked alike.
struct GpuRun {
  uint64_t size = 1;
  uint64_t stride = 0;  // in elements
};

// A reduction: result number o is made of `count` elements of the input. They lie at the offset
// that `kept` gives o, and from there at those that `reduced` gives 0, 1, … count - 1.
struct GpuReduction {
  static constexpr size_t kMostRuns = 10;
  // Threads of a block of the kernels that have one block for each part of a result.
  static constexpr unsigned kThreads = 256;

  uint64_t input = 0;     // addresses
  uint64_t output = 0;    // if there is one part
  uint64_t parts_at = 0;  // else of what parts make, result after result
  uint64_t outputs = 0;
  uint64_t count = 0;
  uint64_t parts = 1;  // that each result is computed in
  uint64_t num_kept = 0, num_reduced = 0;
  GpuRun kept[kMostRuns], reduced[kMostRuns];  // innermost first
};

// Elements from place to place: number i of `n` is read at the sum of its indices times `from`, and
// written at that times `to`.
struct GpuMove {
  static constexpr size_t kMostDims = 10;

  uint64_t input = 0, output = 0;  // addresses of the first
  uint64_t n = 0;
  uint64_t rank = 0;
  uint64_t sizes[kMostDims] = {};                    // innermost first
  int64_t from[kMostDims] = {}, to[kMostDims] = {};  // in elements
};

// Softmaxes of `rows` rows of `size` elements.
struct GpuRows {
  static constexpr unsigned kThreads = 256;

  uint64_t input = 0, output = 0;  // addresses
  uint64_t rows = 0;
  uint64_t size = 0;
};

}  // namespace gyre
