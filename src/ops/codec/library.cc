#include "ops/codec/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace gyre::codec {

absl::StatusOr<void*> OpenLibrary(const char* file, absl::string_view package) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const why = dlerror();
  return absl::FailedPreconditionError(
      absl::StrCat("this needs ", file, ": install the package ", package, " (",
                   why == nullptr ? "it cannot be opened" : why, ")"));
}

bool FindFunction(void* library, const char* name, void** function) {
  *function = dlsym(library, name);
  return *function != nullptr;
}

}  // namespace gyre::codec
