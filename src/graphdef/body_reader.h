// Reads the main graph and the bodies of functions: nodes, edges, results.
#pragma once

#include "absl/status/statusor.h"
#include "graphdef/function_library.h"
#include "graphdef/node_reader.h"
#include "ir/program.h"
#include "wire/graph.pb.h"

namespace gyre {

// INVALID_ARGUMENT (NOT_FOUND for ops and functions that there are none of) names the node: names
// that are invalid or taken, inputs that don't exist or don't fit in number, type or reference,
// control inputs before data inputs, cycles other than those of loops, results that don't exist.
absl::StatusOr<Function> ReadMainGraph(const wire::GraphDef& graph, NodeReader& reader);
absl::StatusOr<Function> ReadFunction(const FunctionInstance& instance, NodeReader& reader);

// INVALID_ARGUMENT, naming the nodes, when `function` has a cycle that no edge from a NextIteration
// to a Merge breaks. Iterative; linear in nodes and edges.
absl::Status CheckAcyclic(const Function& function);

}  // namespace gyre
