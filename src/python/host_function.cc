#include "python/host_function.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "ops/text/host_functions.h"
#include "python/arrays/convert.h"
#include "python/gil.h"
#include "python/graph.h"
#include "python/python.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

// Exceptions on their way from a host function to the caller of the run. The status that ends the
// run holds the number as a mark in its text, which survives what the engine adds to it.
constexpr absl::string_view kMark = "[Python exception ";

struct Kept {
  nb::object exception;
  std::thread::id thread;  // where it was raised
};
// By number, which grows. With the GIL held.
std::map<uint64_t, Kept>& Pending() {
  static auto* const pending = new std::map<uint64_t, Kept>;
  return *pending;
}
uint64_t& LastNumber() {
  static uint64_t last = 0;
  return last;
}
// A run may fail with another error first; its exceptions must not pile up.
constexpr size_t kMaxPending = 64;

}  // namespace

absl::Status KeepException(nb::handle exception) {
  auto& pending = Pending();
  if (pending.size() >= kMaxPending) pending.erase(pending.begin());
  const uint64_t number = ++LastNumber();
  pending.emplace(number, Kept{nb::borrow(exception), std::this_thread::get_id()});
  const nb::object text = nb::str(exception);
  return absl::UnknownError(absl::StrCat(TypeNameOf(exception), ": ", TextOf(text, "an exception"),
                                         " ", kMark, number, "]"));
}

namespace {

absl::StatusOr<std::vector<Tensor>> CallPython(nb::handle fn, absl::Span<const Tensor> arguments) {
  const GilHeld gil;
  try {
    const CurrentGraphScope eager(nullptr);
    nb::list list;
    for (const Tensor& argument : arguments) list.append(WrapEager(argument));
    const nb::object results = fn(list);
    if (PyList_Check(results.ptr()) == 0 && PyTuple_Check(results.ptr()) == 0)
      ThrowTypeError(
          absl::StrCat("a host function must return a list of tensors, not ", TypeNameOf(results)));
    std::vector<Tensor> tensors;
    for (const nb::handle result : nb::iter(results)) tensors.push_back(ToTensor(result));
    return tensors;
  } catch (nb::python_error& error) {
    return KeepException(error.value());
  } catch (...) {
    SetCurrentExceptionAsPythonError();
    nb::python_error error;
    return KeepException(error.value());
  }
}

// Sets one of the exceptions as Python's error, and forgets it.
void Raise(std::map<uint64_t, Kept>::iterator it) {
  const nb::object exception = std::move(it->second.exception);
  Pending().erase(it);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

nb::str Register(nb::callable fn) {
  static uint64_t last = 0;
  const std::string token = absl::StrCat("pyfunc_", ++last);
  // Kept for ever: a graph may be saved with the token in it, and run any time.
  const nb::handle kept = fn.release();
  HostFunctions::Global().Set(
      token, [kept](absl::Span<const Tensor> arguments) { return CallPython(kept, arguments); });
  return ToStr(token);
}

}  // namespace

uint64_t LastHostException() { return LastNumber(); }

bool RaiseHostExceptionAfter(uint64_t number) {
  for (auto it = Pending().upper_bound(number); it != Pending().end(); ++it) {
    if (it->second.thread != std::this_thread::get_id()) continue;
    Raise(it);
    return true;
  }
  return false;
}

bool RaiseHostException(const absl::Status& status) {
  const absl::string_view text = status.message();
  const size_t mark = text.find(kMark);
  if (mark == absl::string_view::npos) return false;
  const absl::string_view rest = text.substr(mark + kMark.size());
  uint64_t number = 0;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find(']')), &number)) return false;
  const auto it = Pending().find(number);
  if (it == Pending().end()) return false;
  Raise(it);
  return true;
}

void BindHostFunctions(nb::module_& m) {
  m.def("register_host_function", &Register, nb::arg("fn"),
        "The token by which PyFunc and EagerPyFunc call it.");
}

}  // namespace gyre::python
