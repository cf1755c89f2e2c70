// A region as an object file, for programs that have neither Gyre nor LLVM.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiled/region.h"

namespace gyre::compiled {

// Where a cell's bytes lie in the structure that the function is given.
struct ObjectMember {
  uint32_t cell = 0;
  uint32_t offset = 0;
};

// What is asked for: of a region that is no loop, and that calls nobody, a function
//
//   int32_t symbol(const void* inputs, void* outputs)
//
// which returns 0; or the number of the instruction that had no result, counted from 1; or -1 where
// calls are nested too deeply. It keeps nothing, and what it needs lies on the stack.
struct ObjectRequest {
  const Region* region = nullptr;
  const char* symbol = nullptr;
  const char* cpu = nullptr;  // as LLVM calls it; "native": this machine's
  bool may_contract = false;
  const ObjectMember* inputs = nullptr;
  uint32_t num_inputs = 0;
  const ObjectMember* outputs = nullptr;
  uint32_t num_outputs = 0;
  uint32_t stack_bytes = 0;  // for what waits for subroutines
  // Takes the file.
  void (*take)(void* to, const char* bytes, size_t size) = nullptr;
  void* to = nullptr;
};

// What could not be generated.
struct ObjectRefusal {
  uint32_t instruction = UINT32_MAX;  // of the region; or none
  bool knows_cpu = true;              // whether there is such a processor
};

// False if it cannot: `refusal` says at which instruction, or else `error` has been told why.
// Thread-safe; throws nothing.
using ObjectFn = bool (*)(const ObjectRequest& request, ObjectRefusal* refusal,
                          CompileError* error);
bool MakeObject(const ObjectRequest& request, ObjectRefusal* refusal, CompileError* error);

}  // namespace gyre::compiled
