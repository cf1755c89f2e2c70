// The --memory option, which several commands have.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/arguments.h"

namespace gyre::cli {

// "" when it was not given. INVALID_ARGUMENT, naming the option and what it takes, for what is no
// memory policy.
absl::StatusOr<std::string> ReadMemoryPolicy(const Arguments& arguments);

}  // namespace gyre::cli
