// ScalarCode: the function by which a kernel computes one element, for code that is generated.
//
// A kernel's struct K that has `static bool Scalar(const void* const* inputs, void* output)` offers
// it: `ForTypes` and `ComputeBy` put it into the Kernel. Where the build has clang, the function is
// also kept as bitcode (src/compiled), under the name of K, and generated code inlines it: what an
// op means is said once.
#pragma once

#include <typeinfo>

namespace gyre {

// Computes one element. `inputs` and `output` point to values of the types of the node's inputs and
// of its output. False: these values have no result, and the kernel says why. It has no effect but
// `output`, keeps nothing, and throws nothing.
using ScalarFunction = bool (*)(const void* const* inputs, void* output);

struct ScalarCode {
  ScalarFunction function;
  const std::type_info& kernel;  // K
};

template <typename K>
concept HasScalarCode = requires(const void* const* inputs, void* output) {
  { K::Scalar(inputs, output) } noexcept;
};

template <typename K>
inline const ScalarCode kScalarCode = {&K::Scalar, typeid(K)};

}  // namespace gyre
