// Runs one gradient entry of a golden case. Stateless; any thread.
#pragma once

#include <optional>
#include <string>

#include "cli/check/case.h"
#include "cli/check/runner.h"

namespace gyre::cli {

// Differentiates the graph in memory, runs what must run first, and the gradients; under a memory
// policy, once more under `save`, whose bits first derivatives must have. What was wrong, in a
// sentence; nullopt when all was as wanted.
std::optional<std::string> CheckGradient(const GoldenCase& golden, const GoldenGradient& gradient,
                                         const CheckOptions& options);

}  // namespace gyre::cli
