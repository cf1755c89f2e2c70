// What may be asked of custom_gradient beside what gyre/gradients.h offers. Thread rules are those
// of the graph.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "base/internal_export.h"
#include "gyre/gradients.h"

namespace gyre::internal {

// custom_gradient, whose function is called `name` in the graph, if no other is. `gradient` is
// traced when that function stands: a PartitionedCall of this name in it is a call of the function
// whose gradient it is, so that the two may need each other in derivatives of any order.
GYRE_INTERNAL_EXPORT std::vector<Value> NamedCustomGradient(const std::string& name,
                                                            const std::vector<Value>& xs,
                                                            const CustomFunction& f,
                                                            const CustomGradient& gradient,
                                                            const std::source_location& where);

}  // namespace gyre::internal
