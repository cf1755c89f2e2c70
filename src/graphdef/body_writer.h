// Writes the main graph and the bodies of functions. Stateless; any thread.
#pragma once

#include "absl/status/status.h"
#include "graphdef/proto/graph.pb.h"
#include "ir/program.h"

namespace gyre {

// Adds the nodes of the program's main graph.
absl::Status WriteMainGraph(const Program& program, wire::GraphDef* graph);
absl::Status WriteFunction(const Program& program, const Function& function,
                           wire::FunctionDef* def);

}  // namespace gyre
