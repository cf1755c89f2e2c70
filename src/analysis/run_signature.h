// RunSignature: how a run of a function is asked for, and which nodes it needs.
//
// What is fed, what is fetched, which nodes run for their effects. Feeds cut the graph: nothing
// runs merely to produce a fed value.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gyre {

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

}  // namespace gyre
