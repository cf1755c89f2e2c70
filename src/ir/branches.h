// Branches: which side of which Switches each node of a graph of primitives stands on.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gyre {

// One side of a conditional: what runs only when `predicate` selects `side`.
struct Branch {
  Endpoint predicate;  // of the Switches; the root has none
  int side = 0;        // output slot of the Switches
  int parent = -1;     // the branch around it; -1 for the root
  int depth = 0;       // 0 for the root
};

struct BranchTable {
  std::vector<Branch> branches;     // the root first, parents before children
  std::vector<int> branch_of_node;  // index into branches
};

// A node stands in the innermost of the branches that its inputs and control inputs come from; a
// Merge stands where all its inputs' branches meet. Switches on a loop's condition make no branch.
// This is a reading for people and for heuristics: of graphs that are no nest of conditionals it
// says something, not everything. Requirement: edges lead to existing nodes.
BranchTable AnalyzeBranches(const Function& function);

}  // namespace gyre
