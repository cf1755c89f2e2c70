// Which values have rows looked up by number: their gradients are rows, too, for who asks for such.
#pragma once

#include <source_location>
#include <vector>

#include "base/internal_export.h"
#include "gyre/value.h"

namespace gyre::internal {

// Of each value, or handle of a variable: whether rows of it are gathered in the graph that it is
// in, or in what the nodes there call.
GYRE_INTERNAL_EXPORT std::vector<bool> AreGathered(const std::vector<Value>& values,
                                                   const std::source_location& where);

}  // namespace gyre::internal
