// Executables: signatures of a graph, compiled once and run often.
#pragma once

#include "python/python.h"

namespace gyre::python {

// Graph.prepare.
nb::object PrepareGraph(nb::handle graph, nb::handle feeds, nb::handle fetches, nb::handle targets,
                        bool effects, nb::handle session);

}  // namespace gyre::python
