// The operators of Tensor, as slots of its type.
#pragma once

#include <vector>

#include "python/python.h"

namespace gyre::python {

void AppendOperatorSlots(std::vector<PyType_Slot>& slots);

}  // namespace gyre::python
