// Trim: variables, arguments and results that nobody needs.
//
// A result is needed if some call's output is, an argument if something in the function that is
// needed reads it, and a variable of a loop if it is needed after the loop, by the condition, or by
// anything in the body but its own next value: a counter that only counts goes. Found for all
// functions at once, from what the run asks for and the effects, and never undone by calls in
// circles; so functions keep one signature for all their calls, and no copies are made. Functions
// with primitives keep theirs, and so do functions that attributes name without calling them.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> TrimPass(const Staged& staged);

}  // namespace gyre
