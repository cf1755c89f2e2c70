// The workers' end of control links over gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "dist/control_link.h"
#include "dist/grpc_library.h"

namespace gyre::dist {

// UNAVAILABLE where gRPC does not start.
absl::StatusOr<std::unique_ptr<ControlServer>> ServeGrpc(LinkAcceptor acceptor);

}  // namespace gyre::dist
