// ExportGraphDef: a Program becomes a GraphDef. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "graphdef/graph_format.h"
#include "ir/program.h"

namespace gyre {

// The program as a GraphDef, with all that an import kept. Equal programs give equal bytes. Names
// that the format does not allow, or that two nodes share, are changed; all others stay. Attributes
// are written out with their defaults, and functions in the order of their names. Text leaves out
// fields that Gyre does not know by name; kDetect means binary.
//
// INVALID_ARGUMENT, naming the node, for constants that exist only in a running session;
// RESOURCE_EXHAUSTED beyond the 2 GiB that the format allows.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::string> ExportGraphDef(
    const Program& program, GraphFormat format = GraphFormat::kBinary);

}  // namespace gyre
