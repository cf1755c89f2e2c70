// Signals while C++ runs without the GIL: what Python's own handler does is to note the signal, and
// what the program wants done would be done after the run. So the main thread looks at what has
// been noted while it runs a program, between nodes and while it waits: handlers run there, once
// per signal, and what they raise ends the run.
#pragma once

#include <cstdint>

#include "base/work.h"
#include "gyre/core/options.h"

namespace gyre::python {

// While it lives, handlers of signals run, if the thread is Python's main thread; one that raises
// cancels this. Within one long kernel they cannot run, and wait for its end; but Ctrl-C cancels it
// there, too, unless the program handles that itself. Made with the GIL held, destroyed with or
// without; throws what Python's handlers raise for a signal that has come just before. About 30 ns.
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
  bool is_registered_ = false;
  friend struct InterruptState;
};

// While it lives, Ctrl-C ends what this thread prepares: programs that are compiled,
// differentiated, read. Made and destroyed as Interruptible.
class InterruptibleWork {
 public:
  InterruptibleWork() : interruptible_(cancellation_), limit_(&cancellation_) {}
  bool was_interrupted() const { return cancellation_.IsCancelled(); }

 private:
  Cancellation cancellation_;
  const Interruptible interruptible_;
  const WorkLimit limit_;
};

// Around what Python traces into a graph; they nest. In between, Python's handlers run at once as
// ever, but outside of the graph (relay.h). With the GIL held; BeginTrace throws what handlers
// raise for signals that have come just before. Other threads than the main one have nothing to do.
void BeginTrace();
void EndTrace();
// The same around code that would take what a handler raises for an error of its own, as the
// standard library does when it looks for sources: handlers wait for the end. Some milliseconds.
void BeginHolding();
void EndHolding();

// Throws what a handler raised during the run that has ended, and what one raises for a signal that
// has come since. With the GIL held.
void ThrowIfInterrupted();

}  // namespace gyre::python
