// Options that say what runs a graph, which several commands have.
#pragma once

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "gyre/core/options.h"

namespace gyre::cli {

// --engine: the default without it. INVALID_ARGUMENT lists what there is, or says which of the
// other options has no effect beside it or --cluster.
absl::StatusOr<EngineKind> ReadEngine(const Arguments& arguments);

}  // namespace gyre::cli
