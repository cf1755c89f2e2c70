// Errors: statuses of the core become exceptions of the package, which gives the factory that makes
// them; exceptions of Python pass through C++ as nb::python_error.
#include <new>
#include <stdexcept>
#include <string>

#include "base/long_words.h"
#include "front/error.h"
#include "gyre/value.h"
#include "python/gil.h"
#include "python/host_function.h"
#include "python/lines.h"
#include "python/python.h"
#include "tensor/io/file.h"

namespace gyre::python {
namespace {

// Both live as long as the interpreter.
nb::object& ErrorFactory() {
  static nb::object* const factory = new nb::object;
  return *factory;
}
nb::object& Provider() {
  static nb::object* const provider = new nb::object;
  return *provider;
}

// Nothing without a provider: lines of this module say nothing to users.
std::string LineFromPython() {
  if (!Provider().is_valid()) return "";
  const GilHeld gil;  // the command line runs without
  const nb::object line = Provider()();
  return line.is_none() ? "" : std::string(TextOf(line, "what a line provider returns"));
}

// `code`: that of a status, INDEX_ERROR or GRAPH_SIZE_ERROR. `system_error`: an errno, or 0.
void SetError(absl::string_view code, absl::string_view message, int system_error = 0) {
  if (!ErrorFactory().is_valid()) {
    PyErr_SetString(PyExc_RuntimeError, absl::StrCat(code, ": ", message).c_str());
    return;
  }
  const nb::object error = ErrorFactory()(ToStr(code), ToStr(message), system_error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void SetError(const absl::Status& status) {
  if (!RaiseHostException(status))
    SetError(absl::StatusCodeToString(status.code()), CutLongWords(status.message()),
             SystemErrorOf(status));
}

void Translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error&) {
    SetCurrentExceptionAsPythonError();  // also where the factory fails
  }
}

}  // namespace

void SetCurrentExceptionAsPythonError() noexcept {
  try {
    try {
      throw;
    } catch (nb::python_error& error) {
      error.restore();
    } catch (const Error& error) {
      SetError(error.status());
    } catch (const nb::builtin_exception& error) {
      PyObject* type = PyExc_RuntimeError;
      if (error.type() == nb::exception_type::type_error) type = PyExc_TypeError;
      if (error.type() == nb::exception_type::value_error) type = PyExc_ValueError;
      if (error.type() == nb::exception_type::index_error) type = PyExc_IndexError;
      if (error.type() == nb::exception_type::stop_iteration) type = PyExc_StopIteration;
      if (error.type() == nb::exception_type::buffer_error) type = PyExc_BufferError;
      PyErr_SetString(type, error.what() == nullptr ? "" : error.what());
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  } catch (nb::python_error& error) {  // of the factory itself
    error.restore();
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an error that could not be told");
  }
}

void ThrowTypeError(absl::string_view text) {
  PyErr_SetString(PyExc_TypeError, std::string(text).c_str());
  throw nb::python_error();
}

void ThrowValueError(absl::string_view text) {
  PyErr_SetString(PyExc_ValueError, std::string(text).c_str());
  throw nb::python_error();
}

void ThrowIndexError(absl::string_view text) {
  SetError("INDEX_ERROR", text);
  throw nb::python_error();
}

void ThrowGraphSizeError(absl::string_view graph, int64_t limit) {
  const std::string line = LineFromPython();
  SetError("GRAPH_SIZE_ERROR",
           absl::StrCat("the graph of '", graph, "' has ", limit,
                        " operations and is still being built", line.empty() ? "" : ", at ", line));
  throw nb::python_error();
}

void ThrowStatus(absl::Status status) { throw Error(std::move(status)); }

absl::string_view TextOf(nb::handle s, absl::string_view what) {
  Py_ssize_t size = 0;
  const char* text =
      PyUnicode_Check(s.ptr()) != 0 ? PyUnicode_AsUTF8AndSize(s.ptr(), &size) : nullptr;
  if (text == nullptr) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    ThrowTypeError(absl::StrCat(what, " must be a str, not ", TypeNameOf(s)));
  }
  return {text, static_cast<size_t>(size)};
}

std::string TypeNameOf(nb::handle value) {
  if (value.is_none()) return "None";
  const nb::object name = value.type().attr("__name__");
  return std::string(TextOf(name, "a type's name"));
}

nb::str ToStr(absl::string_view text) {
  // What is no UTF-8 is shown as \xNN.
  return nb::steal<nb::str>(
      Own(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                               "backslashreplace"))
          .release());
}

void UseLineProvider() { internal::SetLineProvider(&LineFromPython); }

void BindErrors(nb::module_& m) {
  nb::register_exception_translator(&Translate);
  m.def(
      "set_error_factory",
      [](nb::object factory) {
        nb::object before =
            std::exchange(ErrorFactory(), factory.is_none() ? nb::object() : std::move(factory));
        return before.is_valid() ? before : nb::object(nb::none());
      },
      nb::arg("factory").none(),
      "Makes the exception of a code name, a message, and an errno or 0. Returns the factory "
      "before.");
  m.def(
      "set_line_provider",
      [](nb::object provider) {
        Provider() = provider.is_none() ? nb::object() : std::move(provider);
        UseLineProvider();
      },
      nb::arg("provider").none(), "Returns the line (\"file.py:12\") that nodes get.");
}

}  // namespace gyre::python
