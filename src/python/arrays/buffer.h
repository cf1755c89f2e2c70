// Python's buffer protocol, both ways: memoryviews of tensors, and tensors of what has a buffer.
#pragma once

#include <optional>

#include "gyre/core/tensor.h"
#include "python/python.h"

namespace gyre::python {

// struct's letter for a dtype; null where there is none.
const char* BufferFormat(DType dtype);

// Slots of Tensor. The view holds a reference to the tensor, and is read-only.
int GetTensorBuffer(PyObject* self, Py_buffer* view, int flags);
void ReleaseTensorBuffer(PyObject* self, Py_buffer* view);

// A copy of what `object` shows as a buffer; nothing if it shows none, or one whose elements are no
// type of Gyre's.
std::optional<Tensor> CopyBuffer(nb::handle object);

}  // namespace gyre::python
