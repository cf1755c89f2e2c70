// What this process holds: read from the system, by any thread.
#pragma once

#include <cstdint>
#include <string>

namespace gyre::testing {

struct ProcessState {
  int64_t resident_bytes = 0;  // but for pages of files: libraries come in as they are used
  int64_t heap_bytes = 0;      // that malloc has handed out
  int64_t descriptors = 0;
  int64_t threads = 0;
};

// What the heap keeps for later goes back first.
ProcessState ReadProcessState();
// What it holds for good: the least of half a second, in which what is under way in the background,
// such as the compiler, comes to its end.
ProcessState ReadLastingState();
std::string ToText(const ProcessState& state);

}  // namespace gyre::testing
