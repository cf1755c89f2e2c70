// Prune: which nodes a run needs, and a program without the others.
//
// A run of a function is asked for by a RunSignature: what is fed, what is fetched, which nodes run
// for their effects. Feeds cut the graph: nothing runs merely to produce a fed value.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ir/program.h"

namespace gyre {

struct Staged;

struct RunSignature {
  std::vector<Endpoint> feeds;
  std::vector<Endpoint> fetches;
  std::vector<NodeId> targets;
};

// Per node: does the run need it? Backwards along data and control edges from fetches and targets,
// not past feeds. A fed placeholder's control inputs are not needed either. Linear in nodes and
// edges.
std::vector<bool> NeededNodes(const Function& function, const RunSignature& signature);

// The signature of a call: all results are fetched; control results and nodes with effects are
// targets. Arguments are not feeds: their nodes run.
RunSignature CallSignature(const Function& function);

// Drops from the main graph what its signature does not need, from functions what their calls do
// not need, and functions that nothing names. A fed value whose node need not run comes out of a
// Placeholder. Effects stay; a structured node whose functions have none is no effect.
absl::StatusOr<Staged> PrunePass(const Staged& staged);

}  // namespace gyre
