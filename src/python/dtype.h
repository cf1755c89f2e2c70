// DType in Python: one object per type, which lives for ever.
#pragma once

#include <optional>

#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"
#include "python/python.h"

namespace gyre::python {

struct PyDType {
  DType dtype = DType::kInvalid;
  bool is_ref = false;
};

// The object of a type.
nb::object ToPython(DType dtype, bool is_ref = false);
// What `as_dtype` takes: a DType, a name, a number of the wire, a Python or numpy type, or a numpy
// dtype. TypeError for all else.
DType ToDType(nb::handle value);
PyDType ToPyDType(nb::handle value);
// None: nothing.
std::optional<DType> ToOptionalDType(nb::handle value);

// (2, None) <-> [2,?]; None <-> ?.
nb::object ToPython(const PartialShape& shape);
PartialShape ToPartialShape(nb::handle dims);

// numpy's type object for elements of this type; imports numpy, or ml_dtypes.
nb::object NumpyType(DType dtype);
nb::module_ Numpy();

}  // namespace gyre::python
