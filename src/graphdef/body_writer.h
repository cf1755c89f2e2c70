// Writes the main graph and the bodies of functions. Stateless; any thread.
#pragma once

#include "absl/status/status.h"
#include "ir/program.h"
#include "wire/graph.pb.h"

namespace gyre {

// Adds the nodes of the program's main graph.
absl::Status WriteMainGraph(const Program& program, wire::GraphDef* graph);
absl::Status WriteFunction(const Program& program, const Function& function,
                           wire::FunctionDef* def);

}  // namespace gyre
