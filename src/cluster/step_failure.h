// What a client is told of a step that failed on one or more workers. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gyre::cluster {

struct MemberFailure {
  std::string name;  // "worker 1 (127.0.0.1:4001)"
  bool has_ended = false;
  absl::Status status;
};

// `first`, the error that ended the step, with where it happened; where it came from no worker's
// program (one is gone, the time is up), also with what the others were doing then.
absl::Status StepFailure(const absl::Status& first, const std::vector<MemberFailure>& members);

}  // namespace gyre::cluster
