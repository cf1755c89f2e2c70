// Compiling ahead of time: a program as an object file with a C function, and the header that
// declares it, for programs that have neither Gyre nor LLVM.
//
// Of programs whose ops are all generated: of scalars and small tensors of known shapes, with
// control flow and recursion. Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "passes/staged.h"

namespace gyre {

struct AheadOptions {
  std::string name = "model";   // of the function
  std::string cpu = "generic";  // as LLVM calls it; "native": this machine's
  bool may_contract = false;    // a * b + c may be rounded once
  int64_t stack_bytes = 65536;  // for what waits in recursion
};

struct CompiledAhead {
  std::string object;  // the file
  std::string header;  // its text, of C and C++
};

// What `asked` asks of its program as a function from its feeds to its fetches. INVALID_ARGUMENT
// for options that mean nothing, feeds without a known shape; UNIMPLEMENTED, naming the op in the
// way; FAILED_PRECONDITION where there is no code generator.
GYRE_INTERNAL_EXPORT absl::StatusOr<CompiledAhead> CompileAhead(const Staged& asked,
                                                                const AheadOptions& options);

}  // namespace gyre
