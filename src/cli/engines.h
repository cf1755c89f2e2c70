// Options that say what runs a graph, which several commands have.
#pragma once

#include "absl/status/status.h"
#include "cli/arguments.h"

namespace gyre::cli {

// --engine: OK without it and for the names of engines; INVALID_ARGUMENT lists them otherwise, or
// says which of the other options has no effect beside it or --cluster.
absl::Status CheckEngine(const Arguments& arguments);

}  // namespace gyre::cli
