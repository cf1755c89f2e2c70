// StacksToLists: a program with lists in place of stacks, so that gradients go through what they
// hold.
//
//   s = Stack();  push(s, x);  y = pop(s)          l = [];  l' = push(l, x);  l'', y = pop(l')
//
// A stack becomes a list where its handle only goes to pushes, pops and one close, also through
// branches, loops and calls, and edges say in which order these come, in every body: the list goes
// from each to the next, through arguments and results. Values are the same to the bit. Nodes and
// their first outputs stay what they were: a push hands its element on, a pop the list's.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/stacks/flow.h"
#include "ir/program.h"

namespace gyre::grad {

// The very program unless what is asked for leads through a stack; then with lists for all stacks
// that can be lists. UNIMPLEMENTED, with the reason, where the way still leads through a stack.
absl::StatusOr<std::shared_ptr<const Program>> StacksToLists(std::shared_ptr<const Program> program,
                                                             const std::vector<Asked>& asked);

}  // namespace gyre::grad
