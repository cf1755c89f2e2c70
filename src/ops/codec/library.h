// Functions of a shared library that is opened when they are first needed.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::codec {

// What dlopen gives for `file`, a system's library; it stays open. FAILED_PRECONDITION, with the
// name of the package that has it, if there is none.
absl::StatusOr<void*> OpenLibrary(const char* file, absl::string_view package);

// Sets `function` to what the library calls `name`; false if it has no such function.
bool FindFunction(void* library, const char* name, void** function);

}  // namespace gyre::codec
