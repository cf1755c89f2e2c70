// Rows: a loop over rows that only computes elements computes those of all rows at once.
//
//   for i in 0 … rows of x:  y[i] = f(x[i], w)      becomes      y = f(x, w)
//
// Such a loop (map_fn makes it) counts from 0 to the number of rows of all that it reads, takes row
// i of tensors, sets element i of lists or appends to them, and between these are elementwise ops
// that cannot fail (analysis/failure.h). Its lists become lists of the rows of one tensor, and
// where they are stacked, that tensor. Elements are computed by the functions that computed them in
// the loop, so bits stay.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> RowsPass(const Staged& staged);

}  // namespace gyre
