// What may be asked of a named function beside what gyre/control_flow.h offers. Thread rules are
// those of the graph.
#pragma once

#include "base/internal_export.h"
#include "gyre/control_flow.h"

namespace gyre::internal {

// Gradients run calls of the function again instead of keeping what they compute inside.
GYRE_INTERNAL_EXPORT void RunAgainForGradients(TracedFunction& function);

}  // namespace gyre::internal
