// Libraries that Gyre ships beside its own and opens when something first needs them: what they
// bring along is large, and most programs never use it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gyre {

// What dlopen gives for the library called `file`, which lies beside what holds this code
// (libgyre.so, or a program that has it built in), or where the build and an installation put
// libraries from there. FAILED_PRECONDITION, with the loader's words, if it cannot be opened.
absl::StatusOr<void*> OpenShippedLibrary(const std::string& file);

}  // namespace gyre
