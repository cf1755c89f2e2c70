// Nodes of graphs in Python: what an Operation of the package is made of.
#pragma once

#include "gyre/value.h"
#include "python/graph.h"
#include "python/python.h"

namespace gyre::python {

// The node that `object` is; null for all else. Good as long as the object is.
const Operation* AsOperation(nb::handle object);
nb::object WrapNode(const Operation& operation, const std::shared_ptr<GraphCore>& graph);

}  // namespace gyre::python
