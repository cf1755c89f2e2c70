// Slices: a gradient that is zero but in some rows.
#pragma once

#include "ir/expr.h"

namespace gyre::grad {

// Row values[k] belongs to row indices[k] of a tensor; those of equal index add up.
struct Slices {
  Expr values;
  Expr indices;
};

// As a tensor of these dimensions (an int32 vector).
Expr MakeDense(const Slices& slices, Expr dims);
// No rows of a tensor of these dimensions.
Slices NoSlices(Expr dims, DType values, DType indices);

}  // namespace gyre::grad
