// What a body uses of outside, and what that was computed from there: for gradients that are taken
// in the body by values of outside.
#pragma once

#include <source_location>
#include <utility>
#include <vector>

#include "front/scope.h"

namespace gyre::internal {

struct ComputedOutside {
  // Pairs of what the body has captured, and the same value, computed in the body from x.
  std::vector<std::pair<Endpoint, Endpoint>> copies;
  // Where x is a variable: what was read of it outside. Its gradient is the variable's.
  std::vector<Endpoint> reads;
};

// In a body, what was made outside of it are arguments, which know nothing of each other. Where a y
// depends on x through other values of outside that were made of x, the body gets copies of the
// nodes that made them; the gradient by x goes on there. `stops`: in the body. INVALID_ARGUMENT
// where such a node changes something or draws random numbers, and cannot be run again.
ComputedOutside CopyComputedOutside(const ScopePtr& body, const std::vector<Endpoint>& ys,
                                    const Value& x, const std::vector<Endpoint>& stops,
                                    const std::source_location& where);

}  // namespace gyre::internal
