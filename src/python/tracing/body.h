// Callables of Python as bodies that the front end traces. An exception in one of them goes through
// the tracing code, which unwinds, and comes out as it is.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "gyre/control_flow.h"
#include "python/graph.h"
#include "python/python.h"

namespace gyre::python {

// What a body has returned: a list or tuple of tensors (or of what becomes one) as values of the
// scope that is being traced.
std::vector<Value> ResultsOfBody(nb::handle results, absl::string_view what);
// What a construct is given: a list of tensors as values.
std::vector<Value> ValuesOf(nb::handle tensors, absl::string_view what);
// With names: `paths`, or numbers if it is None.
gyre::internal::Leaves LeavesOf(std::vector<Value> values, nb::handle paths);

// The graph that is current; FAILED_PRECONDITION, with what is missed, if there is none.
std::shared_ptr<GraphCore> RequireGraph(absl::string_view what);

}  // namespace gyre::python
