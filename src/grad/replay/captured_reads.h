// CaptureReads: the variables that a loop reads and nobody in it writes are read once, before it.
//
//   While(x, v)                              c = _CaptureVariable(v)
//     x' = f(x, ReadVariableOp(v))           While(x, v, c)
//                                              x' = f(x, _CapturedValue(v, c))
//
// So the loop may run again for its gradient, in parts, with the values that it saw first, whatever
// is written to the variable behind it. Gradients go to the handles, as before; values, ids and
// names of nodes stay what they were. A variable that may be written in the loop, also by way of
// another handle, is read where it was.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "ir/program.h"

namespace gyre::grad {

// `again`: whether a node (a loop, a call) is to be run again in parts.
absl::StatusOr<std::shared_ptr<const Program>> CaptureReads(
    std::shared_ptr<const Program> program, const std::function<bool(const Node&)>& again);

}  // namespace gyre::grad
