// Variables that live on a cluster's workers: read and assigned by small programs, each where the
// session's program has it. Stateless; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/session.h"

namespace gyre {

// As Session::ReadVariables and Session::AssignVariables of a session on a cluster.
absl::StatusOr<std::vector<Tensor>> ReadRemoteVariables(const Session& session,
                                                        absl::Span<const std::string> names);
absl::Status AssignRemoteVariables(const Session& session,
                                   absl::Span<const std::pair<std::string, Tensor>> values);

}  // namespace gyre
