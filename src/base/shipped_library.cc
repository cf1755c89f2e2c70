#include "base/shipped_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "absl/status/status.h"

namespace gyre {

absl::StatusOr<void*> OpenShippedLibrary(const std::string& file) {
  Dl_info self = {};
  std::filesystem::path folder;
  if (dladdr(reinterpret_cast<const void*>(&OpenShippedLibrary), &self) != 0 &&
      self.dli_fname != nullptr) {
    std::error_code error;
    folder = std::filesystem::canonical(self.dli_fname, error).parent_path();
    // A program that has the code built in, started under a name that is no path.
    if (error) folder = std::filesystem::canonical("/proc/self/exe", error).parent_path();
  }
  std::string why;
  for (const char* place : {".", "../lib", "../../lib"}) {
    const std::string path = (folder / place / file).string();
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    const char* const error = dlerror();
    // What is there but cannot be loaded says more than what is not there.
    if (std::error_code none; why.empty() || std::filesystem::exists(path, none))
      why = error == nullptr ? "" : error;
  }
  return absl::FailedPreconditionError(why);
}

}  // namespace gyre
