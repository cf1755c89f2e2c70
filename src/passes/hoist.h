// Hoist: what a loop computes anew in every iteration, and always alike, is computed before it.
//
// Out of the bodies and conditions of While and For go pure ops that depend on constants and on
// variables that no iteration changes; what they give goes in as another such variable. A body may
// make no iteration at all, and what fails there must not fail instead before the loop. So only ops
// that cannot fail go (arithmetic element by element on shapes that are known to fit, Cast, Shape,
// …), unless they are certain to run: in a condition, or in a For of at least one iteration.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> HoistPass(const Staged& staged);

}  // namespace gyre
