// What may be asked of a named function beside what gyre/control_flow.h offers. Thread rules are
// those of the graph.
#pragma once

#include "base/internal_export.h"
#include "gyre/control_flow.h"

namespace gyre::internal {

// A function that stands in the main graph, whatever is being traced: it can be called everywhere.
GYRE_INTERNAL_EXPORT std::shared_ptr<TracedFunction> MakeFunctionOfMain(
    const std::string& name, const std::source_location& where);

// As CallFunction, of a function that is to know no more of its arguments than these shapes; none:
// all that is known.
GYRE_INTERNAL_EXPORT std::vector<Value> CallFunctionOfShapes(TracedFunction& function,
                                                             const Leaves& args,
                                                             absl::Span<const PartialShape> shapes,
                                                             const BodyFn& body,
                                                             const std::source_location& where);

// Gradients run calls of the function again instead of keeping what they compute inside.
GYRE_INTERNAL_EXPORT void RunAgainForGradients(TracedFunction& function);

// Whether it can be called only where the scope that it was made in is being traced: its calls hand
// over values of that scope, or it may be traced once more.
GYRE_INTERNAL_EXPORT bool NeedsItsScope(const TracedFunction& function);

}  // namespace gyre::internal
