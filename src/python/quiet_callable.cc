// QuietCallable: a base for callable classes of the package. Calls run the subclass's method
// `_call(args, kwargs)` from C++, so that no frame of the package stands between the user's line
// and the user's function, and hand what it raises to the filter, which takes the frames inside
// out.
#include "python/python.h"

namespace gyre::python {
namespace {

// Lives as long as the interpreter.
nb::object& Filter() {
  static nb::object* const filter = new nb::object;
  return *filter;
}

// Of the exception that is set. What is raised meanwhile, by a handler of a signal, takes its
// place, as in an except clause.
void FilterTraceback() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  PyObject* const done = PyObject_CallFunctionObjArgs(Filter().ptr(), value, nullptr);
  Py_XDECREF(traceback);
  if (done != nullptr) {
    Py_DECREF(done);
    PyErr_Restore(type, value, PyException_GetTraceback(value));
    return;
  }
  Py_XDECREF(type);
  PyObject *new_type = nullptr, *new_value = nullptr, *new_traceback = nullptr;
  PyErr_Fetch(&new_type, &new_value, &new_traceback);
  PyErr_NormalizeException(&new_type, &new_value, &new_traceback);
  PyException_SetContext(new_value, value);  // takes the reference
  PyErr_Restore(new_type, new_value, new_traceback);
}

PyObject* Call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const name = PyUnicode_InternFromString("_call");
  PyObject* const result =
      PyObject_CallMethodObjArgs(self, name, args, kwargs == nullptr ? Py_None : kwargs, nullptr);
  if (result == nullptr && Filter().is_valid()) FilterTraceback();
  return result;
}

}  // namespace

void BindQuietCallable(nb::module_& m) {
  static char doc[] =
      "Base of callable classes: calls run their method _call(args, kwargs or None), and leave no "
      "frames of the package in tracebacks.";
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(&Call)}, {Py_tp_doc, doc}, {0, nullptr}};
  static PyType_Spec spec = {"gyre._gyre.QuietCallable", sizeof(PyObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  m.attr("QuietCallable") = Own(PyType_FromSpec(&spec));
  m.def(
      "set_traceback_filter",
      [](nb::object filter) {
        if (!filter.is_none() && PyCallable_Check(filter.ptr()) == 0)
          ThrowTypeError("a traceback filter must be callable");
        Filter() = filter.is_none() ? nb::object() : std::move(filter);
      },
      nb::arg("filter").none(),
      "Called with what a QuietCallable raises, to change its traceback.");
}

}  // namespace gyre::python
