// DenseCode: what a kernel does to operands of shapes that are known beforehand, for code that is
// generated: it is given where their elements lie, allocates nothing, and cannot fail. Its bits are
// the kernel's.
//
// A kernel's struct K offers it as
//   static std::optional<DenseCode> Dense(const Node&, absl::Span<const DenseOperand> inputs,
//                                         absl::Span<const Shape> outputs)
// and others by WithDenseCode<&Dense>(kernel).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// An input as far as it is known: a constant, or of what shape it will be.
struct DenseOperand {
  const Tensor* constant = nullptr;
  std::optional<Shape> shape;
};

struct DenseCode {
  // `inputs` are the elements of the node's first `num_operands` inputs. No output overlaps an
  // input. Throws nothing.
  void (*function)(const void* plan, const void* const* inputs, void* const* outputs) = nullptr;
  std::shared_ptr<const void> plan;
  uint32_t num_operands = 0;
  int64_t work = 0;  // about how many elements are computed on the way
};

// Work that is done in a microsecond or so: more of it is not for generated code.
inline constexpr int64_t kMaxDenseWork = 1 << 14;

// `kernel` with Fn as Kernel::dense.
template <auto Fn>
KernelFactory WithDenseCode(KernelFactory kernel) {
  return [kernel = std::move(kernel)](const Node& node) -> absl::StatusOr<Kernel> {
    absl::StatusOr<Kernel> made = kernel(node);
    if (made.ok()) made->dense = Fn;
    return made;
  };
}

}  // namespace gyre
