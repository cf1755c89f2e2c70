// Which signals a thread takes: where none may come, and what Gyre's own threads leave to others.
//
// A thread that Gyre starts takes no signal that is sent to the process: those are for the threads
// of the program that Gyre is part of, whose handlers may count on being there (thread-local
// variables, siglongjmp). What a thread causes itself (SIGSEGV, SIGPIPE, …) still reaches it, and
// so does SIGPROF, so that profilers see it.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <thread>

#include "base/internal_export.h"

namespace gyre {

// While it lives, no handler runs on this thread, whatever signal is sent to it or to the process.
// For code during which the stack pointer does not point to a stack. Two system calls. Not to be
// kept for longer than some milliseconds: Ctrl-C waits for it.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  uint64_t before_ = 0;  // the kernel's set: one bit per signal
};

// A new thread of Gyre's that runs `body`. Throws std::system_error where the machine has none
// left.
GYRE_INTERNAL_EXPORT std::thread StartThread(std::function<void()> body);

// While it lives, a thread of Gyre's takes the signals that the thread which asked for it takes;
// other threads are left as they are. Around calls of the user's own functions: processes that they
// start inherit what is blocked. What these functions change about it is undone.
class GYRE_INTERNAL_EXPORT CallersSignals {
 public:
  CallersSignals();
  ~CallersSignals();
  CallersSignals(const CallersSignals&) = delete;
  CallersSignals& operator=(const CallersSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gyre
