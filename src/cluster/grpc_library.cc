#include "cluster/grpc_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace gyre::cluster {
namespace {

// Beside what holds this code (libgyre.so, or a program that has it built in), or where the build
// and an installation put libraries from there.
absl::StatusOr<const GrpcLibrary*> Load() {
  Dl_info self = {};
  std::filesystem::path folder;
  if (dladdr(reinterpret_cast<const void*>(&LoadGrpc), &self) != 0 && self.dli_fname != nullptr) {
    std::error_code error;
    folder = std::filesystem::canonical(self.dli_fname, error).parent_path();
    // A program that has the code built in, started under a name that is no path.
    if (error) folder = std::filesystem::canonical("/proc/self/exe", error).parent_path();
  }
  void* library = nullptr;
  std::string why;
  for (const char* place : {".", "../lib", "../../lib"}) {
    const std::string path = (folder / place / GYRE_GRPC_LIBRARY).string();
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* const error = dlerror();
    // What is there but cannot be loaded says more than what is not there.
    if (std::error_code none; why.empty() || std::filesystem::exists(path, none))
      why = error == nullptr ? "" : error;
  }
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "clusters need ", GYRE_GRPC_LIBRARY, ", which Gyre is built with if gRPC is there: ", why));
  }
  const auto* entry = static_cast<const GrpcLibrary*>(dlsym(library, "gyre_grpc"));
  if (entry == nullptr || entry->interface != GrpcLibrary().interface) {
    return absl::FailedPreconditionError(
        absl::StrCat(GYRE_GRPC_LIBRARY, " is of another version of Gyre"));
  }
  return entry;
}

}  // namespace

absl::StatusOr<const GrpcLibrary*> LoadGrpc() {
  static const auto* const loaded = new absl::StatusOr<const GrpcLibrary*>(Load());
  return *loaded;
}

}  // namespace gyre::cluster
