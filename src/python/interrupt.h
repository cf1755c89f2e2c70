// Ctrl-C while C++ runs without the GIL: Python's handler only notes it, and would act on it after
// the run. So a run of the main thread says that it can be interrupted, and a thread that waits for
// signals cancels it.
#pragma once

#include <cstdint>

#include "base/cancellation.h"

namespace gyre::python {

// While it lives, Ctrl-C cancels this, if the thread is Python's main thread. Made with the GIL
// held, destroyed with or without; throws what Python's handlers raise for a signal that has come
// just before. About 30 ns.
class Interruptible {
 public:
  explicit Interruptible(Cancellation& cancellation);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  void Unregister();

  Cancellation& cancellation_;
  Interruptible* outer_ = nullptr;  // of runs within runs
  uint32_t signals_before_ = 0;
  bool is_registered_ = false;
  friend struct InterruptState;
};

// Throws KeyboardInterrupt, or what else Python's handlers of signals raise, if one has come. With
// the GIL held.
void ThrowIfInterrupted();

}  // namespace gyre::python
