// Host functions: callables of Python that graphs call, and how their exceptions find back to the
// caller of the run that they ended.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "python/python.h"

namespace gyre::python {

// Keeps an exception until the run that it ends has ended; the status to end it with. With the GIL
// held.
absl::Status KeepException(nb::handle exception);
// Raises the exception that a host function has ended a run with, if `status` is about one.
bool RaiseHostException(const absl::Status& status);
// For runs that Ctrl-C cancels: a host function of this thread may have raised KeyboardInterrupt
// before the run was told of the signal. The number of the last exception so far, and whether there
// was one on this thread after it, which then is Python's error.
uint64_t LastHostException();
bool RaiseHostExceptionAfter(uint64_t number);

}  // namespace gyre::python
