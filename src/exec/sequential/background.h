// Compiling while programs run: one thread of low priority, for the whole process.
#pragma once

#include <functional>

#include "base/internal_export.h"

namespace gyre {

// Waits for the task that runs; there are none from then on. For who is about to end the process,
// whatever other threads do.
GYRE_INTERNAL_EXPORT void StopCompiling();

namespace sequential {

// To be called before there is anything to compile: if it is the main thread that calls, and later
// ends the process, it does what StopCompiling does.
void StopCompilingAtExit();

// Whether StopCompiling has been called: what the code generator has made is not to be given back
// any more.
bool HasStoppedCompiling();

// Runs `task`, which uses the code generator and must not throw, soon, one after the other. Not at
// all where there is no thread to be had, or once the process is about to end: exit() waits for the
// task that runs. A fork() waits for it, too; a child has none of the tasks. Thread-safe. Throws
// std::bad_alloc.
void CompileInBackground(std::function<void()> task);

}  // namespace sequential
}  // namespace gyre
