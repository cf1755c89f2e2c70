// What becomes of a thread that is inside Gyre when Python ends.
//
// Before Python 3.14, whoever asks for the GIL once the interpreter ends is left by pthread_exit: a
// daemon thread that traces, or comes back from a run, and a thread of the engine that calls a host
// function. That unwinds the thread's frames, and C++ may not be unwound so here: destructors would
// let go of Python's objects without the GIL, and what is noexcept (all that Python calls) ends the
// process. Such a thread stops for ever instead, as every thread does from Python 3.14 on.
#include <unistd.h>
#include <unwind.h>

extern "C" {

using Personality = _Unwind_Reason_Code(int version, _Unwind_Action actions,
                                        _Unwind_Exception_Class kind, _Unwind_Exception* exception,
                                        _Unwind_Context* context);

// cmake/python.cmake has the linker put the second in the place of the first, for this module: the
// unwinder asks it what is to be done in a frame, before anything is.
Personality __real___gxx_personality_v0;  // NOLINT: the linker's names
Personality __wrap___gxx_personality_v0;  // NOLINT

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  // Exceptions are never forced; pthread_exit and pthread_cancel are.
  if ((actions & _UA_FORCE_UNWIND) != 0) {
    for (;;) pause();
  }
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}

}  // extern "C"
