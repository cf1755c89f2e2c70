// Arithmetic of variant values: what AddN, Add and ZerosLike do with tensor lists and optionals.
//
// The family that owns such an object (List) derives it from AddableObject; the generic ops find it
// through Tensor::object_as<AddableObject>() and know no concrete type.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// What makes up an object that a variant refers to, for who sends it to another process.
struct VariantParts {
  std::string state;               // what is no tensor, in the object's own form
  std::vector<Tensor> components;  // without a value where nothing is stored
};

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
  // What MakeVariant makes an equal object of. RESOURCE_EXHAUSTED where there is no memory for it,
  // INVALID_ARGUMENT for objects that no other process can have.
  virtual absl::StatusOr<VariantParts> TakeApart() const {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", type_name(), " cannot leave the process that made it"));
  }
};

// An object of the type that calls itself `type_name`. INVALID_ARGUMENT for types that do not
// exist, and for parts that do not make one; RESOURCE_EXHAUSTED as Tensor::Make.
absl::StatusOr<RefPtr<Object>> MakeVariant(absl::string_view type_name, VariantParts parts,
                                           Tensor::Alloc alloc);

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
