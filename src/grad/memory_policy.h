// Memory policies (gyre/core/options.h): what a loop keeps for its gradient, and what it computes
// again.
//
//   save               everything that the gradient needs, of every iteration
//   recompute(k)       the variables, every k iterations; between them the loop runs once more
//   checkpoint(bytes)  about so many bytes, however many iterations there are: segments of segments
//
// A loop says which one in its attribute `_gyre_memory`. The bits of a first derivative do not
// depend on it; those of higher ones may, since what is computed again has adjoints of its own,
// which are summed in another order.
//
// Checkpoints are those of Griewank and Walther's multi-level scheme (Evaluating Derivatives, 2nd
// ed., chapter 12), laid out as the loop runs: m segments of k iterations, then m of m of these,
// and so on; each level but the lowest runs one more time, from checkpoints of its own. k and m
// come from the bytes that one iteration would save and that its variables take, both measured as
// the loop begins.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grad/stacks/flow.h"
#include "gyre/core/options.h"
#include "ir/program.h"

namespace gyre::grad {

inline constexpr absl::string_view kMemoryAttr = "_gyre_memory";
// Of a call: its gradient runs it again instead of keeping what it computed inside.
inline constexpr absl::string_view kRecomputeAttr = "_gyre_recompute";
// Of loops and calls that are parts of a loop: gradients of its invariants are summed through them,
// from one to the next, so that the sum is the one that the whole loop would have made.
inline constexpr absl::string_view kSegmentsAttr = "_gyre_segments";

// Every loop in the form in which its gradient keeps what its policy says; `other` is that of loops
// that say nothing, `asked` what is differentiated. Effects happen once, and are kept: what a part
// that runs again sees of them is what the loop saw.
absl::StatusOr<std::shared_ptr<const Program>> ApplyMemoryPolicies(
    std::shared_ptr<const Program> program, const Asked& asked, const MemoryPolicy& other);

}  // namespace gyre::grad
