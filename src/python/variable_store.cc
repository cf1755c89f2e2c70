#include "python/variable_store.h"

#include "ops/state/variable.h"
#include "python/settings.h"

namespace gyre::python {

std::optional<VariableType> VariableBehind(const Tensor& handle) {
  const Variable* variable = handle.object_as<Variable>();
  if (variable == nullptr) return std::nullopt;
  return VariableType{variable->dtype(), variable->shape()};
}

Tensor MakeVariable(const std::string& name, const Tensor& initial, const PartialShape& shape) {
  RefPtr<Variable> variable = Resources().LookupOrCreate<Variable>(
      "", name, [&] { return MakeRef<Variable>(name, initial.dtype(), shape); });
  variable->Assign(initial);
  return Tensor::FromObject(DType::kResource, std::move(variable));
}

}  // namespace gyre::python
