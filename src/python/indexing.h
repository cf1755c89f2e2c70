// tensor[…]: ints, slices, ellipsis, new axes, scalar tensors, and masks of bools.
#pragma once

#include "python/python.h"

namespace gyre::python {

nb::object GetItem(nb::handle tensor, nb::handle key);
// The slot.
PyObject* TensorGetItem(PyObject* self, PyObject* key);

}  // namespace gyre::python
