// Variables: handles into the one store that eager ops and all graphs share.
#include <string>

#include "eager/variable_store.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/settings.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

nb::object Create(nb::handle initial_object, nb::handle dims, nb::handle name, nb::handle device) {
  const Tensor& initial = RequireEager(initial_object, "the initial value");
  const PartialShape shape = dims.is_none() ? PartialShape(initial.shape()) : ToPartialShape(dims);
  if (!shape.Allows(initial.shape())) {
    ThrowValueError(absl::StrCat("an initial value of shape ", initial.shape().ToString(),
                                 " does not fit the variable's shape ", shape.ToString()));
  }
  return WrapEager(eager::MakeVariable(TheContext(), TextOf(name, "a name"), initial, shape,
                                       {.device = std::string(TextOf(device, "a device")),
                                        .is_watched = false}));  // the package says which are
}

DType TypeOf(nb::handle handle) {
  const auto variable = eager::VariableBehind(RequireEager(handle, "the handle"));
  if (!variable) ThrowTypeError("this tensor is no handle of a variable");
  return variable->dtype;
}

nb::object Read(nb::handle handle) {
  const DType dtype = TypeOf(handle);
  static const OpDef& op = FindOp("ReadVariableOp");
  const nb::handle inputs[] = {handle};
  return Execute(op, inputs, {{"dtype", dtype}})[0];
}

void Assign(nb::handle handle, nb::handle value) {
  const DType dtype = TypeOf(handle);
  static const OpDef& op = FindOp("AssignVariableOp");
  const nb::handle inputs[] = {handle, value};
  Execute(op, inputs, {{"dtype", dtype}, {"validate_shape", false}});
}

}  // namespace

void BindVariables(nb::module_& m) {
  m.def("create_variable", &Create, nb::arg("initial"), nb::arg("dims") = nb::none(),
        nb::arg("name") = "Variable", nb::arg("device") = "",
        "The handle of a new variable, which is forgotten with the last handle.");
  m.def("read_variable", &Read, nb::arg("handle"));
  m.def("assign_variable", &Assign, nb::arg("handle"), nb::arg("value"));
}

}  // namespace gyre::python
