// ScalarCode: the function by which a kernel computes one element, for code that is generated.
//
// A kernel's struct K that has `static bool Scalar(const void* const* inputs, void* output)` offers
// it, with `static constexpr bool kBroadcasts = true` if tensors are broadcast together: `ForTypes`
// and `ComputeBy` put it into the Kernel. Where the build has clang, the function is also kept as
// bitcode (src/compiled), under the name of K, and generated code inlines it: what an op means is
// said once.
#pragma once

#include <concepts>
#include <cstdint>
#include <typeinfo>

namespace gyre {

// Computes one element. `inputs` and `output` point to values of the types of the node's inputs and
// of its output. False: these values have no result, and the kernel says why. It has no effect but
// `output`, keeps nothing, and throws nothing.
using ScalarFunction = bool (*)(const void* const* inputs, void* output);

// Computes n elements in a row.
using RowFunction = void (*)(const void* x, void* y, int64_t n);

struct ScalarCode {
  ScalarFunction function;
  const std::type_info& kernel;  // K
  // Of tensors, the kernel computes each element so: broadcast together, else all of one shape.
  bool broadcasts;
  // Where the function of one element costs about as much as that of several: K::VectorRow, which
  // finds that; else null.
  RowFunction (*row)();
  // Where `function` is T f(T) of one element, a float or double, and never without a result:
  // K::VectorOne, which finds f; else null.
  const void* (*one)();
};

template <typename K>
concept HasScalarCode = requires(const void* const* inputs, void* output) {
  { K::Scalar(inputs, output) } noexcept;
};

namespace internal {
template <typename K>
constexpr bool Broadcasts() {
  if constexpr (requires { K::kBroadcasts; }) return K::kBroadcasts;
  return false;
}
template <typename K>
constexpr RowFunction (*RowFinder())() {
  if constexpr (requires {
                  { K::VectorRow() } -> std::same_as<RowFunction>;
                })
    return &K::VectorRow;
  return nullptr;
}
template <typename K>
constexpr const void* (*OneFinder())() {
  if constexpr (requires { K::VectorOne(); })
    return [] { return reinterpret_cast<const void*>(K::VectorOne()); };
  return nullptr;
}
}  // namespace internal

template <typename K>
inline const ScalarCode kScalarCode = {&K::Scalar, typeid(K), internal::Broadcasts<K>(),
                                       internal::RowFinder<K>(), internal::OneFinder<K>()};

}  // namespace gyre
