// Changing elements in place: assign, add, subtract, multiply, divide, minimum, maximum. What
// AssignAdd, ScatterMul and their kin come down to.
//
// Free functions without state; any thread that may write the destination.
#pragma once

#include "absl/status/status.h"
#include "gyre/core/dtype.h"
#include "ops/kernel.h"
#include "ops/state/variable.h"

namespace gyre {

enum class UpdateOp { kAssign, kAdd, kSub, kMul, kDiv, kMin, kMax };

// OK if elements of `dtype` can be changed this way; UNIMPLEMENTED otherwise.
absl::Status CheckUpdate(UpdateOp op, DType dtype);

// INVALID_ARGUMENT if an integer would be divided by a 0 of `operands`. Requirement, not checked:
// CheckUpdate(op, operands.dtype()).ok().
absl::Status CheckOperands(UpdateOp op, const Tensor& operands);

// to[i] = to[i] op from[i · step] for i in [0, n). step: 1, or 0 for one value applied to all.
// Integers wrap around, and division is towards 0; a NaN is the least and the largest.
// Requirements, not checked: CheckUpdate(op, dtype).ok(), and CheckOperands; the arrays hold
// elements of `dtype`, and don't overlap unless equal.
absl::Status UpdateElements(UpdateOp op, DType dtype, void* to, const void* from, int64_t n,
                            int64_t step);

// variable = variable op value, under its lock. `input` is the variable's input of the node.
// INVALID_ARGUMENT unless the shapes are equal, FAILED_PRECONDITION if it is uninitialised.
// Requirement, not checked: `value` is of the variable's type.
absl::Status UpdateVariable(const KernelContext& ctx, UpdateOp op, int input,
                            VariableObject& variable, const Tensor& value);

}  // namespace gyre
