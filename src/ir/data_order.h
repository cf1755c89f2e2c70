// The order in which values come about in a function, as its data edges alone say.
#pragma once

#include <vector>

#include "base/internal_export.h"
#include "ir/program.h"

namespace gyre {

struct DataOrder {
  std::vector<NodeId>
      order;  // every node once, producers first; the back edges of loops don't count
  std::vector<int> position;                   // of each node in `order`
  std::vector<std::vector<NodeId>> consumers;  // by data edges, each consumer once
};

// The edges from NextIteration to Merge, which close a loop.
bool IsBackEdge(const Node& source, const Node& destination);

// Arguments come first, wherever they stand: sums of adjoints follow this order, and a function has
// the bits of a copy whose arguments are in front. Nodes on a cycle that is no loop come last.
// Requirement: the edges of `function` lead to existing nodes.
GYRE_INTERNAL_EXPORT DataOrder OrderByData(const Function& function);

}  // namespace gyre
