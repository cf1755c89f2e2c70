// Pieces of formulas over dimensions and axes.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace gyre::vectorize {

// The shape of rows, stacked. `num_rows`: -1 if it is not known.
PartialShape WithRowAxis(const PartialShape& row, int64_t num_rows);
// All of a vector but its first element.
Expr Behind(Expr vector);
// Vectors (or tensors), one behind the other along axis 0.
Expr Joined(const std::vector<Expr>& parts);
// The tensor with its first two axes exchanged. `rank`: -1 if it is not known.
Expr FirstAxesSwapped(Expr x, int rank);
// The tensor with `count` axes of size 1 put in behind axis 0.
Expr WithOnesBehindRows(Expr x, int count);
// 0, 1, …, count - 1, for a scalar.
Expr CountTo(Expr count);

}  // namespace gyre::vectorize
