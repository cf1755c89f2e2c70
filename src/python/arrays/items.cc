#include "python/arrays/items.h"

namespace gyre::python {

nb::tuple ItemsOf(nb::handle list, absl::string_view what) {
  PyObject* const o = list.ptr();
  if (PyTuple_Check(o) != 0) return nb::borrow<nb::tuple>(list);
  if (PyList_Check(o) == 0)
    ThrowTypeError(absl::StrCat(what, " must be a list or a tuple, not ", TypeNameOf(list)));
  return nb::borrow<nb::tuple>(Own(PyList_AsTuple(o)));
}

nb::dict ItemsOfDict(nb::handle dict, absl::string_view what) {
  if (PyDict_Check(dict.ptr()) == 0)
    ThrowTypeError(absl::StrCat(what, " must be a dict, not ", TypeNameOf(dict)));
  return nb::borrow<nb::dict>(Own(PyDict_Copy(dict.ptr())));
}

}  // namespace gyre::python
