// Inline: a call of a small function, or of one that is called only here, becomes its body.
//
// The body's nodes stand in the caller as "call/node". Order stays what the call made of it: what
// held up the call holds up all of the body; effects of the body come after all inputs of the call,
// and what reads or awaits the call comes after all of them, with NoOps and Identities where edges
// are missing. What has no effects is not held up. Not inlined are functions
//   - that may call themselves, have primitives, references or unresolved types, or do not fit;
//   - marked `_noinline` (they, or the call), or with a gradient function of their own;
//   - whose random numbers, variables or counters hang on names, or on the call.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> InlinePass(const Staged& staged);

}  // namespace gyre
