// Prune: a program without the nodes that a run does not need.
#pragma once

#include "passes/staged.h"

namespace gyre {

// Drops from the main graph what its signature does not need, from functions what their calls do
// not need, and functions that nothing names. A fed value whose node need not run comes out of a
// Placeholder. Effects stay; a structured node whose functions have none is no effect.
absl::StatusOr<Staged> PrunePass(const Staged& staged);

}  // namespace gyre
