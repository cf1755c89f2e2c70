// ElementwiseTable: what generated kernels of elementwise ops on a GPU are told of one call, as
// words: who generates them (src/compiled) and who calls them (src/devices/cuda) agree on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gyre {

struct ElementwiseTable {
  // Of a broadcast, once neighbouring dimensions that are walked alike are merged.
  static constexpr size_t kMaxDims = 10;
  static constexpr size_t kMaxInputs = 3;

  struct Input {
    static constexpr uint64_t kFlat = 0;     // element i of the result is made of its element i
    static constexpr uint64_t kValue = 1;    // a scalar, which is in the table
    static constexpr uint64_t kStrided = 2;  // broadcast
    uint64_t kind = kFlat;
    uint64_t low = 0;  // the address of its elements, or a scalar's first eight bytes
    uint64_t high = 0;
    uint64_t strides[kMaxDims] = {};  // in elements, innermost first
  };

  uint64_t n = 0;       // elements of the result
  uint64_t output = 0;  // their address
  uint64_t rank = 0;
  uint64_t sizes[kMaxDims] = {};  // innermost first
  Input inputs[kMaxInputs];
};
static_assert(sizeof(ElementwiseTable) % sizeof(uint64_t) == 0);

}  // namespace gyre
