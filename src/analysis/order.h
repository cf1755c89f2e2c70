// The order of a program: a function's nodes, producers before consumers.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gyre {

// All nodes, by data and control edges, the back edges of loops left out; the smallest id first
// where edges leave a choice, so that a function whose nodes are in order keeps it. Nodes that wait
// for each other are left out.
std::vector<NodeId> ProducersFirst(const Function& function);
// Those that `needed` counts. They wait for no others.
std::vector<NodeId> ProducersFirst(const Function& function, const std::vector<bool>& needed);

}  // namespace gyre
