// The workers' end of control links over gRPC.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dist/control_link.h"
#include "dist/grpc_library.h"

namespace gyre::dist {

// UNAVAILABLE where nobody can listen there.
absl::StatusOr<std::unique_ptr<ControlServer>> ServeGrpc(const std::string& address,
                                                         LinkAcceptor acceptor);

}  // namespace gyre::dist
