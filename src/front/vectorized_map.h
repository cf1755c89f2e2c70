// vectorized_map: a function of each row, of all rows at once.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "base/internal_export.h"
#include "gyre/control_flow.h"
#include "passes/vectorize/vectorize.h"

namespace gyre::internal {

struct VectorizedMapOptions {
  std::string name;
  bool fall_back = true;  // whether what cannot be batched may run in loops over rows
};

struct VectorizedRows {
  std::vector<Value> results;       // of fn, stacked
  std::vector<LoopOverRows> loops;  // what runs row by row all the same
};

// Calls `fn` once, with one row of each of `rows`, and adds what computes it for all of them.
// Throws INVALID_ARGUMENT if the rows are of different numbers, as far as that shows, and
// UNIMPLEMENTED, with the reason, if there must be no loop and it takes one.
GYRE_INTERNAL_EXPORT VectorizedRows VectorizedMap(const Leaves& rows, const BodyFn& fn,
                                                  const VectorizedMapOptions& options,
                                                  const std::source_location& where);

}  // namespace gyre::internal
