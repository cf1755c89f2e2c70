// The code generator, from a library of its own: libgyre_compiled.so, which is loaded when the
// first region is compiled. LLVM is larger than all of Gyre; who compiles nothing does not pay for
// it.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiled/region.h"

namespace gyre::compiled {

// What the library exports, as `gyre_compiled`.
struct CompilerLibrary {
  uint32_t interface = 3;  // raised when the rest, or region.h, changes
  CompileFn compile = nullptr;
};

// Loads it. Requirement: the thread has a NoFork. FAILED_PRECONDITION, with what to install,
// where it is not there or of another version.
absl::StatusOr<const CompilerLibrary*> LoadCompiler();

}  // namespace gyre::compiled
