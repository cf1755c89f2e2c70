#include "cluster/grpc_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/shipped_library.h"

namespace gyre::cluster {
namespace {

absl::StatusOr<const GrpcLibrary*> Load() {
  const absl::StatusOr<void*> library = OpenShippedLibrary(GYRE_GRPC_LIBRARY);
  if (!library.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("clusters need ", GYRE_GRPC_LIBRARY,
                     ", which Gyre is built with if gRPC is there: ", library.status().message()));
  }
  const auto* entry = static_cast<const GrpcLibrary*>(dlsym(*library, "gyre_grpc"));
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
