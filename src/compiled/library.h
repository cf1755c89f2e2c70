// The code generator, from a library of its own: libgyre_compiled.so, which is loaded when the
// first region is compiled. LLVM is larger than all of Gyre; who compiles nothing does not pay for
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiled/object.h"
#include "compiled/ptx.h"
#include "compiled/region.h"

namespace gyre::compiled {

// What the library exports, as `gyre_compiled`.
struct CompilerLibrary {
  uint32_t interface = 18;  // raised when the rest, region.h, ptx.h or object.h changes
  CompileFn compile = nullptr;
  PtxFn ptx = nullptr;
  ObjectFn object = nullptr;
  GpuKernelFn gpu_kernel = nullptr;
};

// Loads the library, if need be, and compiles. FAILED_PRECONDITION, with what to install, where it
// is not there or of another version; RESOURCE_EXHAUSTED without memory to begin with. Requirement:
// the thread has a NoFork. Thread-safe; throws std::bad_alloc.
absl::StatusOr<std::unique_ptr<const NativeCode>> CompileRegion(const Region& region);

// The kernel of `code` as PTX: see PtxRequest. UNIMPLEMENTED, saying why, where a GPU cannot run
// it; otherwise as CompileRegion.
absl::StatusOr<std::string> ScalarPtx(const ScalarCode& code, absl::Span<const size_t> input_bytes,
                                      size_t output_bytes);

// The same of a function that is written for GPUs, by its name.
absl::StatusOr<std::string> ScalarPtx(const std::string& function,
                                      absl::Span<const size_t> input_bytes, size_t output_bytes);

// A kernel that is written for GPUs (compiled/gpu), by its name, as PTX. UNIMPLEMENTED where there
// is none; otherwise as CompileRegion.
absl::StatusOr<std::string> GpuKernelPtx(const std::string& name);

// The file that `request` asks for, whose `take` and `to` count for nothing. UNIMPLEMENTED, with
// `refused` the instruction in the way, or else saying why; INVALID_ARGUMENT for a processor that
// there is not; otherwise as CompileRegion.
absl::StatusOr<std::string> ObjectFile(ObjectRequest request, uint32_t& refused);

}  // namespace gyre::compiled
