// Compiling while programs run: one thread of low priority, for the whole process.
#pragma once

#include <functional>

namespace gyre::sequential {

// Runs `task`, which must not throw, soon, one after the other. Not at all where there is no thread
// to be had. A child of fork() has none of the tasks. Thread-safe. Throws std::bad_alloc.
void CompileInBackground(std::function<void()> task);

}  // namespace gyre::sequential
