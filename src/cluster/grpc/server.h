// The workers' end of control links over gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cluster/control_link.h"
#include "cluster/grpc_library.h"

namespace gyre::cluster {

// UNAVAILABLE where gRPC does not start.
absl::StatusOr<std::unique_ptr<ControlServer>> ServeGrpc(LinkAcceptor acceptor);

}  // namespace gyre::cluster
