// GilHeld: the GIL on a thread that has it not, or may have it, for a block of code.
//
// nanobind's gil_scoped_acquire asks for it in nanobind's own library, out of which a thread that
// may not run Python any more cannot be stopped (thread_exit.cc).
#pragma once

#include <nanobind/nanobind.h>

namespace gyre::python {

class GilHeld {
 public:
  GilHeld() : before_(PyGILState_Ensure()) {}
  ~GilHeld() { PyGILState_Release(before_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  const PyGILState_STATE before_;
};

}  // namespace gyre::python
