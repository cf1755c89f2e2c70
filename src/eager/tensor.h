// EagerTensor: a value that tapes can tell from others, equal ones too.
//
// A plain value; the number goes with copies.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "base/internal_export.h"
#include "gyre/core/tensor.h"

namespace gyre::eager {

class VariableOwner;

// Never the number of another tensor; not 0. Thread-safe.
GYRE_INTERNAL_EXPORT uint64_t NewTensorId();

struct EagerTensor {
  Tensor value;
  uint64_t id = 0;                             // 0: nobody asks which one it is
  std::shared_ptr<const VariableOwner> owner;  // of the handle of a variable

  EagerTensor() = default;
  // A tensor with a number of its own.
  explicit EagerTensor(Tensor tensor) : value(std::move(tensor)), id(NewTensorId()) {}
  EagerTensor(Tensor tensor, uint64_t number, std::shared_ptr<const VariableOwner> variable = {})
      : value(std::move(tensor)), id(number), owner(std::move(variable)) {}

  bool has_value() const { return value.has_value(); }
  DType dtype() const { return value.dtype(); }
};
using EagerTensors = absl::InlinedVector<EagerTensor, 2>;

}  // namespace gyre::eager
