// Simplify: what is the same, bit for bit, by less work.
//
// Only what holds for all values, -0.0, infinities and NaNs among them, and where the result
// provably keeps its shape: x * 1, x / 1, x - 0, integers + 0; -(-x), not not p; logic and
// selection with constants; Identity, Reshape, Transpose, Cast and BroadcastTo that change nothing,
// and chains of them. One rule per op, in a table in simplify.cc. Nodes that wait for others by
// control edges, carry a gradient of their own, or touch references stay as they are.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> SimplifyPass(const Staged& staged);

}  // namespace gyre
