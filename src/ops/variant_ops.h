// Arithmetic of variant values: what AddN, Add and ZerosLike do with tensor lists and optionals.
//
// The family that owns such an object (List) derives it from AddableObject; the generic ops find it
// through Tensor::object_as<AddableObject>() and know no concrete type.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/ref.h"
#include "gyre/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// An object with a sum and a zero. Both make a new object and leave their operands as they are:
// values are immutable, so any number of threads may call them at once. `ctx` gives memory (charged
// to the run) and cancellation.
class AddableObject : public Object {
 public:
  // This object plus `other`, element by element. INVALID_ARGUMENT when `other` is of another kind,
  // or when the number, the dtypes or the shapes of the elements disagree.
  virtual absl::StatusOr<RefPtr<Object>> Add(KernelContext& ctx, const Object& other) const = 0;
  // An object of the same structure whose elements are all zero.
  virtual absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext& ctx) const = 0;
  // Of the elements, each counted where it is held. Those of what is nested too deeply are left
  // out.
  virtual int64_t PayloadBytes() const = 0;
};

// Of a tensor's elements, and of what these hold.
int64_t PayloadBytes(const Tensor& value);

// The sum of two tensors of equal dtype and shape, as an element of a list needs it: numbers add,
// variants add as AddableObject says. INVALID_ARGUMENT when dtypes or shapes differ or the dtype
// has no sum. Implemented in ops/math/add_n.cc.
absl::StatusOr<Tensor> AddTensors(KernelContext& ctx, const Tensor& a, const Tensor& b);

// Adds the elements of `value`, which are numbers, to as many at `sum`. INVALID_ARGUMENT when the
// dtype has no sum.
absl::Status AddInto(KernelContext& ctx, const Tensor& value, void* sum);

}  // namespace gyre
