// Raise: from Switch, Merge, Enter, Exit and NextIteration to If, Case and While with closed bodies
// and explicit captures.
//
// By structure alone: which nodes are alive where (contexts.h) and which frames they run in. The
// result means what the graph meant where it runs to its end. Computations without effects that a
// graph makes in the last, cut-off iteration of a loop, or for nobody, are not made.
#pragma once

#include "passes/staged.h"

namespace gyre {

// The main graph as far as the signature needs it, and all functions that hold primitives. A fetch
// that is alive on some paths only fails with INVALID_ARGUMENT where it is not, as it did.
// UNIMPLEMENTED, naming a node and the reason, for what has no structured form.
absl::StatusOr<Staged> Raise(const Staged& staged);

// Raise as a pass: what has no structured form stays as it is.
absl::StatusOr<Staged> RaisePass(const Staged& staged);

}  // namespace gyre
