// Python values become eager tensors, and elements of tensors Python values.
#pragma once

#include <optional>
#include <string>

#include "gyre/core/tensor.h"
#include "python/python.h"

namespace gyre::python {

// A tensor of numbers, texts, nested lists of these, of what has a buffer, `__dlpack__` or
// `__array__`. Without a dtype: float -> float32, int -> int32 or int64, complex -> complex128;
// that of the array. TypeError or ValueError, with the place in a list, where that cannot be.
Tensor ToTensor(nb::handle value, std::optional<DType> dtype = std::nullopt);
// As above, also of eager Tensors; `tensor` in Python.
nb::object MakeTensor(nb::handle value, nb::handle dtype, nb::handle dims);

// Whether the value is a number of Python itself, which takes the dtype of what it meets.
bool IsPythonNumber(nb::handle value);
// Whether ToTensor would try at all: for operators, which leave other things to the other side.
bool MayBeTensor(nb::handle value);

// The elements in another dtype.
Tensor CastTo(const Tensor& tensor, DType dtype);

// Element i: int, float, complex, bool or bytes.
nb::object ElementToPython(const Tensor& tensor, int64_t i);
// The bytes of a str (as UTF-8) or bytes; TypeError for all else.
void StringOf(nb::handle text, std::string* to);

}  // namespace gyre::python
