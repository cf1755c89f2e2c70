#include "eager/variable_store.h"

#include <utility>

#include "ops/state/variable.h"

namespace gyre::eager {

std::optional<VariableType> VariableBehind(const Tensor& handle) {
  const VariableObject* variable = handle.object_as<VariableObject>();
  if (variable == nullptr) return std::nullopt;
  return VariableType{variable->dtype(), variable->shape()};
}

Tensor ValueBehind(const Tensor& handle) {
  const VariableObject* variable = handle.object_as<VariableObject>();
  return variable == nullptr ? Tensor() : variable->Read();
}

Tensor StoreVariable(ResourceStore& store, const std::string& name, const Tensor& initial,
                     const PartialShape& shape) {
  RefPtr<VariableObject> variable = store.LookupOrCreate<VariableObject>(
      "", name, [&] { return MakeRef<VariableObject>(name, initial.dtype(), shape); });
  variable->Assign(initial);
  return Tensor::FromObject(DType::kResource, std::move(variable));
}

}  // namespace gyre::eager
