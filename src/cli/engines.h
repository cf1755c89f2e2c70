// The --engine option, which several commands have.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gyre::cli {

// OK for "" (the default) and the names of engines; INVALID_ARGUMENT lists them otherwise.
absl::Status CheckEngine(const std::string& name);

}  // namespace gyre::cli
