// The variables of a store, seen from outside of ops. (Apart from the rest, since the front end and
// the core each have a class called Variable.)
#pragma once

#include <optional>
#include <string>

#include "base/internal_export.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ops/resource_store.h"

namespace gyre::eager {

struct VariableType {
  DType dtype;
  PartialShape shape;
};
// What the variable behind a handle holds; nothing for what is no handle of a variable.
GYRE_INTERNAL_EXPORT std::optional<VariableType> VariableBehind(const Tensor& handle);

// Its value; none for a variable without one, and for what is no handle of a variable.
GYRE_INTERNAL_EXPORT Tensor ValueBehind(const Tensor& handle);

// A handle of a new variable in the store, whose name must be new, with this value.
GYRE_INTERNAL_EXPORT Tensor StoreVariable(ResourceStore& store, const std::string& name,
                                          const Tensor& initial, const PartialShape& shape);

}  // namespace gyre::eager
