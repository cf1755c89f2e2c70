// A value of a body, computed in the main graph.
#pragma once

#include <source_location>

#include "base/internal_export.h"
#include "gyre/value.h"

namespace gyre::internal {

// Copies to the main graph what the value is made of. INVALID_ARGUMENT where that hangs on an
// argument of the body.
GYRE_INTERNAL_EXPORT Value Lift(const Value& value, const std::source_location& where);

}  // namespace gyre::internal
