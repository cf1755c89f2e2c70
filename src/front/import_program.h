// A program that is there already comes into the graph that is current, as import_graph brings one
// from a file. Stateless; one thread.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "base/internal_export.h"
#include "gyre/graph.h"
#include "ir/program.h"

namespace gyre::internal {

// Adds what `outputs` and `targets` (names of nodes that run for their effects) of the program's
// main graph need, and returns the outputs. What `inputs` name is replaced. Nodes and functions
// keep their names as far as these are free, on which random numbers hang. Errors are thrown, as
// import_graph's. The program has If and While in place of primitives.
GYRE_INTERNAL_EXPORT std::vector<Value> ImportProgram(std::shared_ptr<const Program> program,
                                                      const std::vector<std::string>& outputs,
                                                      const std::vector<std::string>& targets,
                                                      const ImportInputs& inputs,
                                                      const std::source_location& where);

// The same of a program of either dialect, which is pruned and raised first, as import_graph does
// with one from a file.
GYRE_INTERNAL_EXPORT std::vector<Value> ImportRaised(std::shared_ptr<const Program> program,
                                                     const std::vector<std::string>& outputs,
                                                     const ImportInputs& inputs,
                                                     const std::source_location& where);

// Adds all nodes of the program's main graph, as they are, primitives and all; what `inputs` name
// is replaced in what reads it. Returns the nodes in the order of the program's.
GYRE_INTERNAL_EXPORT std::vector<Operation> ImportNodes(std::shared_ptr<const Program> program,
                                                        const ImportInputs& inputs,
                                                        const std::source_location& where);

}  // namespace gyre::internal
