// Control links over gRPC, from a library of its own: libgyre_grpc.so, which is loaded when the
// first cluster or worker asks for it. gRPC brings some fifty libraries; who runs programs in one
// process does not pay for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dist/control_link.h"

namespace gyre::dist {

// What accepts links. Its destructor ends them all and waits for the last OnClosed.
class ControlServer {
 public:
  virtual ~ControlServer() = default;
  // "127.0.0.1:4001": with the port that it is.
  virtual std::string address() const = 0;
};

// What the library exports, as `gyre_grpc`.
struct GrpcLibrary {
  uint32_t interface = 1;  // raised when the rest changes
  absl::StatusOr<std::shared_ptr<ControlLink>> (*dial)(const std::string& address,
                                                       std::shared_ptr<LinkHandler> handler);
  absl::StatusOr<std::unique_ptr<ControlServer>> (*serve)(const std::string& address,
                                                          LinkAcceptor acceptor);
};

// Loads it. FAILED_PRECONDITION where it is not there, or of another version.
absl::StatusOr<const GrpcLibrary*> LoadGrpc();

}  // namespace gyre::dist
