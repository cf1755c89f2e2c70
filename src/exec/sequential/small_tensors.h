// Small tensors in native code: which registers become cells that hold their elements, and what is
// computed there.
//
// Shapes are known beforehand, so that an elementwise op is a loop over elements with fixed
// strides, what moves elements is a list of copies, and products and sums get their operands'
// addresses. A register becomes a cell where that gains
// something: if something is computed of it or into it, or its value is moved there from such a
// register. Others stay tensors, which are changed in place and handed on without a copy.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiled/region.h"
#include "exec/sequential/loop.h"

namespace gyre::sequential {

// How an instruction is generated if its operands and outputs are cells; `instruction` has no
// inputs and outputs yet.
struct TensorCode {
  compiled::Instruction instruction;
  std::vector<uint32_t> inputs;  // numbers of those that are operands
};
// Nullopt: it is not. `constants` are by register, null where it changes.
std::optional<TensorCode> FindTensorCode(const RegisterLoop& loop, const Instruction& from,
                                         absl::Span<const Tensor* const> constants);

// By register.
std::vector<bool> FindTensorCells(const RegisterLoop& loop,
                                  absl::Span<const Tensor* const> constants);

// Whether native code can read the elements of a tensor of any size, of a known type and shape,
// where they lie.
enum class Lent : uint8_t {
  kNo,
  kInvariant,  // the loop does not change the register
  kMade,       // by an op of the loop, such as the read of a variable
};
// By register.
std::vector<Lent> FindLent(const RegisterLoop& loop);

// Whether both are small tensors, of one type and shape.
bool HaveOneType(const RegisterLoop& loop, uint32_t a, uint32_t b);

}  // namespace gyre::sequential
