// The code generator, from a library of its own: libgyre_compiled.so, which is loaded when the
// first region is compiled. LLVM is larger than all of Gyre; who compiles nothing does not pay for
// it.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compiled/region.h"

namespace gyre::compiled {

// What the library exports, as `gyre_compiled`.
struct CompilerLibrary {
  uint32_t interface = 12;  // raised when the rest, or region.h, changes
  CompileFn compile = nullptr;
};

// Loads the library, if need be, and compiles. FAILED_PRECONDITION, with what to install, where it
// is not there or of another version; RESOURCE_EXHAUSTED without memory to begin with. Requirement:
// the thread has a NoFork. Thread-safe; throws std::bad_alloc.
absl::StatusOr<std::unique_ptr<const NativeCode>> CompileRegion(const Region& region);

}  // namespace gyre::compiled
