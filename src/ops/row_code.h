// RowCode: how an elementwise kernel computes elements in a row, for who computes several ops piece
// by piece (exec/fused).
//
// A kernel's struct K that has `static bool Rows(const void* attrs, const void* const* inputs,
// size_t num_inputs, uint32_t repeated, void* output, int64_t n)` offers it, with
// `static constexpr bool kBroadcasts = true` if tensors are broadcast together: `ForTypes` and
// `ComputeBy` put it into the Kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gyre {

// output[i] = f(inputs[0][i], …) for i in [0, n), of the types of the node's inputs and output.
// Bit k of `repeated`: inputs[k] is one element, which is used for all of them; only of kernels
// that broadcast. `attrs`: the kernel's. False: some elements have no result, and the kernel says
// why. An element's bits hang on its operands alone. `output` may be an input of elements of the
// same size that is not repeated; without broadcasting, one of the first two. Throws nothing.
using RowsFunction = bool (*)(const void* attrs, const void* const* inputs, size_t num_inputs,
                              uint32_t repeated, void* output, int64_t n);

// Operands at most of a kernel that broadcasts.
inline constexpr size_t kMaxBroadcastOperands = 3;

struct RowCode {
  RowsFunction function;
  bool broadcasts;  // else all operands have one shape
};

template <typename K>
concept HasRowCode = requires { RowsFunction(&K::Rows); };

namespace internal {
template <typename K>
constexpr bool RowsBroadcast() {
  if constexpr (requires { K::kBroadcasts; }) return K::kBroadcasts;
  return false;
}
}  // namespace internal

template <typename K>
inline constexpr RowCode kRowCode = {&K::Rows, internal::RowsBroadcast<K>()};

}  // namespace gyre
