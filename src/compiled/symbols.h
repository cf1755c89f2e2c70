// What debuggers and profilers are told of native code: where GYRE_NATIVE_SYMBOLS is 1, each loop's
// function has the loop's name and source line. gdb and lldb learn it from the code generator, perf
// from the file /tmp/perf-PID.map, to which a line is added for each function.
#pragma once

#include <string>

#include "compiled/region.h"

namespace gyre::compiled {

// Of this process. Thread-safe.
bool WantsSymbols();

// A name as debuggers and profilers take it: without line ends and their like.
std::string SymbolName(std::string name);

// Tells perf of a region that has names; what cannot be written is left out. Thread-safe; throws
// std::bad_alloc.
void TellPerf(const Region& region, const NativeCode& code);

}  // namespace gyre::compiled
