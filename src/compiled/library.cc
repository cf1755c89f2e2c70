#include "compiled/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/shipped_library.h"
#include "base/status.h"

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

absl::StatusOr<const CompilerLibrary*> LoadedCompiler() {
  static const auto* const loaded = new absl::StatusOr<const CompilerLibrary*>(Load());
  return *loaded;
}

struct KeptError : CompileError {
  KeptError() {
    say = [](CompileError* self, const char* text) noexcept {
      try {
        static_cast<KeptError*>(self)->why = text;
      } catch (const std::bad_alloc&) {  // then it stays unsaid
      }
    };
  }
  std::string why;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const NativeCode>> CompileRegion(const Region& region) {
  GYRE_ASSIGN_OR_RETURN(const CompilerLibrary* const library, LoadedCompiler());
  KeptError error;
  std::unique_ptr<const NativeCode> code(library->compile(region, &error));
  if (code != nullptr) return code;
  if (error.lacks_memory)
    return absl::ResourceExhaustedError("there is no memory to compile loops with");
  return BugError(absl::StrCat("native code of ", region.name, ": ", error.why));
}

}  // namespace gyre::compiled
