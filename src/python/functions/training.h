// The rules of optimizers and initializers (ops/functions), bound together with the public
// functions: what the package makes its classes of.
#pragma once

#include "python/python.h"

namespace gyre::python {

void BindTraining(nb::module_& m);

}  // namespace gyre::python
