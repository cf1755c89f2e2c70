// gyre/core/session.h's ConnectCluster, in a given time.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gyre/core/session.h"

namespace gyre::cluster {

// Gives up calling the workers after `timeout_ms`, with DEADLINE_EXCEEDED; 0: after the failure
// timeout of each.
absl::StatusOr<std::shared_ptr<const Engine>> ConnectWithin(int64_t timeout_ms,
                                                            const ClusterOptions& options);

}  // namespace gyre::cluster
