// What functions hand on as they get it. Pure functions; any thread.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gyre {

// The value that `value` is a copy of: past Identity nodes.
Endpoint PastIdentities(const Function& function, Endpoint value);

// The argument of the function that `value` is, past Identity nodes; -1: it is none.
int ArgumentOf(const Function& function, Endpoint value);

// By variable: every iteration of a loop with this body hands it on as it is. The body's first
// `num_counters` arguments are no variables (NumCounterArgs).
std::vector<bool> InvariantVariables(const Function& body, int num_counters);

}  // namespace gyre
