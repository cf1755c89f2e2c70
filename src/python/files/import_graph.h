// Programs of models as parts of a graph.
#pragma once

#include <memory>

#include "ir/program.h"
#include "python/python.h"

namespace gyre::python {

// Adds what `outputs` need of a program to the current graph; `inputs`: {name: tensor to be used
// instead}. The outputs' tensors.
nb::list ImportIntoGraph(std::shared_ptr<const Program> program, nb::handle outputs,
                         nb::handle inputs);

}  // namespace gyre::python
