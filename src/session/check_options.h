// Options that cannot be honoured, found before anything is done with them.
#pragma once

#include "absl/status/status.h"
#include "gyre/core/session.h"

namespace gyre {

// INVALID_ARGUMENT for options of a session that contradict each other or mean nothing.
absl::Status CheckSessionOptions(const SessionOptions& options);
// The same for those of a run.
absl::Status CheckRunOptions(const RunOptions& options);

}  // namespace gyre
