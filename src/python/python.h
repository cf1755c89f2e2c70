// What all files of the binding share: nanobind, and how C functions that Python calls directly
// keep C++ exceptions to themselves. Everything in this folder runs with the GIL held, save where
// it says otherwise.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace nb = nanobind;

namespace gyre::python {

// Sets the Python error that belongs to the C++ exception being handled.
void SetCurrentExceptionAsPythonError() noexcept;

// `body()`, for slots of types: null, and a Python error, instead of a C++ exception.
template <typename F>
PyObject* Guarded(F&& body) noexcept {
  try {
    return std::forward<F>(body)().release().ptr();
  } catch (...) {
    SetCurrentExceptionAsPythonError();
    return nullptr;
  }
}
// The same for slots that return an int.
template <typename F>
int GuardedInt(F&& body) noexcept {
  try {
    return std::forward<F>(body)();
  } catch (...) {
    SetCurrentExceptionAsPythonError();
    return -1;
  }
}

// TypeError and ValueError with a text. (nanobind's own take literals only.)
[[noreturn]] void ThrowTypeError(absl::string_view text);
[[noreturn]] void ThrowValueError(absl::string_view text);
// What is both an IndexError and an INVALID_ARGUMENT of the package.
[[noreturn]] void ThrowIndexError(absl::string_view text);
// That Python is still adding to `graph`, which has as many operations as it may have.
[[noreturn]] void ThrowGraphSizeError(absl::string_view graph, int64_t limit);
// The error of the core as a gyre::Error.
[[noreturn]] void ThrowStatus(absl::Status status);

template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  if (!result.ok()) ThrowStatus(std::move(result).status());
  return *std::move(result);
}
inline void Check(absl::Status status) {
  if (!status.ok()) ThrowStatus(std::move(status));
}

// A new reference that a function of the C API returned; throws the Python error if it is null.
inline nb::object Own(PyObject* result) {
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

// The text of a str; TypeError, which calls it `what`, for all else. Good as long as `s` is.
absl::string_view TextOf(nb::handle s, absl::string_view what);
// "int", "list", …: for messages.
std::string TypeNameOf(nb::handle value);
nb::str ToStr(absl::string_view text);

// What each file adds to the module.
void BindErrors(nb::module_& m);
void BindDTypes(nb::module_& m);
void BindTensors(nb::module_& m);
void BindDLPack(nb::module_& m);
void BindExecute(nb::module_& m);
void BindPublicFunctions(nb::module_& m);
void BindOpInfo(nb::module_& m);
void BindTapes(nb::module_& m);
void BindGraphs(nb::module_& m);
void BindExecutables(nb::module_& m);
void BindNodes(nb::module_& m);
void BindControlFlow(nb::module_& m);
void BindFunctions(nb::module_& m);
void BindGradients(nb::module_& m);
void BindVariables(nb::module_& m);
void BindHostFunctions(nb::module_& m);
void BindSettings(nb::module_& m);
void BindQuietCallable(nb::module_& m);
void BindTools(nb::module_& m);
void BindModels(nb::module_& m);
void BindOnnx(nb::module_& m);
void BindFiles(nb::module_& m);
void BindClusters(nb::module_& m);
void BindRanks(nb::module_& m);

}  // namespace gyre::python
