// Pass through: a result that is an argument is read where the argument comes from.
//
// A call, If, Case, While or For whose functions hand an argument on untouched has an output that
// equals one of its inputs: readers read that input instead, and need not wait for the node. So a
// loop's variable that no iteration changes is an invariant, which the loop reads and nobody reads
// back. Nodes whose functions have effects that come in an order stay between input and reader.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> PassThroughPass(const Staged& staged);

}  // namespace gyre
