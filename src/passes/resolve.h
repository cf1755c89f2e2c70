// Resolve: control flow that is decided beforehand.
//
//   If, Case     with a constant condition or index become a call of the branch taken;
//   While, For   that provably make no iteration give way to their initial values;
//   While, For   that provably make one iteration become a call of their body.
//
// A While's iterations are found by evaluating its condition (which must be pure) on what is
// constant among its initial values, and once more after the body. Calls are then for `inline`.
// Loops whose bodies draw random numbers stay: the numbers hang on the loop.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> ResolvePass(const Staged& staged);

}  // namespace gyre
