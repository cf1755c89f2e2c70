// RecordEffects: a loop (or call) with effects becomes two, one that has them and one that has
// none.
//
//   x' = While(x)                     tape = While(x)                      with the effects
//                                     x'   = StatelessWhile(x, tape)       with what they gave
//
// The first has each effect once, in its order, and writes down what it gives: values read, what
// the host answers; of random numbers the key, by which they are drawn again. The second computes
// everything from that, as often as a memory policy wants it to run. It has the id of the loop, so
// that what reads the loop reads it. Ops whose results have a gradient (reads, gathers) keep it
// (_Replayed).
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "grad/stacks/flow.h"
#include "ir/program.h"

namespace gyre::grad {

// `again`: whether a loop or call is to be run again. Only those on the way from ys to xs become
// two. Those whose effects cannot be written down stay as they are: TensorArrays, references,
// primitives, ops and functions with a gradient of their own.
absl::StatusOr<std::shared_ptr<const Program>> RecordEffects(
    std::shared_ptr<const Program> program, const Asked& asked,
    const std::function<bool(const Node&)>& again);

}  // namespace gyre::grad
