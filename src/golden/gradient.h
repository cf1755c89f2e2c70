// Runs one gradient entry of a golden case. Stateless; any thread.
#pragma once

#include <optional>
#include <string>

#include "golden/case.h"
#include "golden/runner.h"

namespace gyre::golden {

// Differentiates the graph in memory, runs what must run first, and the gradients; under a memory
// policy, once more under `save`, whose bits first derivatives must have. What was wrong, in a
// sentence; nullopt when all was as wanted.
std::optional<std::string> CheckGradient(const Case& golden, const Gradient& gradient,
                                         const CheckOptions& options);

}  // namespace gyre::golden
