// Handlers of Python's while a graph is traced: they run at once as ever, but outside of the graph.
//
// Python runs handlers between any two of its instructions, so what they compute would stand in
// the middle of what is traced. The handler in front of Python's (interrupt.cc) holds a signal that
// comes meanwhile, and notes another one for Python, the relay: a number that nobody uses, whose
// handler is ours. That one leaves the graph, and has Python handle what is held, with the frame
// that was interrupted. Traces are counted on Python's main thread, where handlers run.
#pragma once

namespace gyre::python {

// `pythons`: what Python handles every signal by. True for the outermost. With the GIL held.
bool BeginRelay(void (*pythons)(int));
void EndRelay();

// Handlers wait from now on, or no longer; calls nest. Within a trace.
void HoldHandlers(bool hold);

// Whether the signal is held, since something is traced; else it is for Python's handler. From
// handlers of signals.
bool HoldSignal(int number);

// In a child after fork, whose parent handles what had come.
void ForgetHeldSignals();

}  // namespace gyre::python
