// The client's end of a control link over gRPC.
#pragma once

#include <memory>
#include <string>

#include "cluster/control_link.h"

namespace gyre::cluster {

// A link on a connected socket, which it takes over. `address` is shown in errors.
std::shared_ptr<ControlLink> DialGrpc(int socket, const std::string& address,
                                      std::shared_ptr<LinkHandler> handler);

}  // namespace gyre::cluster
