// The structure of a program: how its loops and branches nest, and what each captures. Two programs
// that were written alike have the same, whatever their nodes are called.
#pragma once

#include <string>

#include "passes/staged.h"

namespace gyre::testing {

// One line per If, Case and While that the signature needs, indented as they nest, those of one
// level in the order of their texts:
//
//   While (AddV2, x)
//     body: If (variable)
//
// In brackets: where the values come from that it uses and does not change: the op that makes them,
// `variable` for what changes in a loop around, the name of what is fed. Constants are left out:
// they may stand inside or outside; so are the handles of arrays and stacks, which are lists that
// change in the other dialect. Without bounds: and so is what only a loop's own condition reads.
std::string StructureOf(const Staged& staged, bool with_bounds = true);

}  // namespace gyre::testing
