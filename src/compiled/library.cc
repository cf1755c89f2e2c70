#include "compiled/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/shipped_library.h"

namespace gyre::compiled {
namespace {

absl::StatusOr<const CompilerLibrary*> Load() {
  const absl::StatusOr<void*> library = OpenShippedLibrary(GYRE_COMPILED_LIBRARY);
  if (!library.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "compiling loops needs ", GYRE_COMPILED_LIBRARY,
        ", which Gyre is built with if LLVM 19 is there (Debian: llvm-19-dev, clang-19): ",
        library.status().message()));
  }
  const auto* entry = static_cast<const CompilerLibrary*>(dlsym(*library, "gyre_compiled"));
  if (entry == nullptr || entry->interface != CompilerLibrary().interface) {
    return absl::FailedPreconditionError(
        absl::StrCat(GYRE_COMPILED_LIBRARY, " is of another version of Gyre"));
  }
  return entry;
}

}  // namespace

absl::StatusOr<const CompilerLibrary*> LoadCompiler() {
  static const auto* const loaded = new absl::StatusOr<const CompilerLibrary*>(Load());
  return *loaded;
}

}  // namespace gyre::compiled
