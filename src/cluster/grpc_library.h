// Control links over gRPC, from a library of its own: libgyre_grpc.so, which is loaded when the
// first cluster or worker asks for it. gRPC brings some fifty libraries; who runs programs in one
// process does not pay for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cluster/control_link.h"

namespace gyre::cluster {

// The workers' end of links. Its destructor ends them all and waits for the last OnClosed.
class ControlServer {
 public:
  virtual ~ControlServer() = default;
  // Takes over the socket of one who may open links. Thread-safe.
  virtual void Take(int socket) = 0;
};

// What the library exports, as `gyre_grpc`.
struct GrpcLibrary {
  uint32_t interface = 2;  // raised when the rest changes
  // A link on a socket, which it takes over, to whoever is called `address`.
  std::shared_ptr<ControlLink> (*dial)(int socket, const std::string& address,
                                       std::shared_ptr<LinkHandler> handler);
  absl::StatusOr<std::unique_ptr<ControlServer>> (*serve)(LinkAcceptor acceptor);
};

// Loads it. FAILED_PRECONDITION where it is not there, or of another version.
absl::StatusOr<const GrpcLibrary*> LoadGrpc();

}  // namespace gyre::cluster
