// The client's end of a control link over gRPC.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dist/control_link.h"

namespace gyre::dist {

// As LinkDialer.
absl::StatusOr<std::shared_ptr<ControlLink>> DialGrpc(const std::string& address,
                                                      std::shared_ptr<LinkHandler> handler);

}  // namespace gyre::dist
