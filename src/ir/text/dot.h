// A picture of a program, for Graphviz: `dot -Tsvg`.
#pragma once

#include <string>

#include "ir/program.h"

namespace gyre {

// A digraph with a box around each function, each loop (frame), and each side of a Switch. Data
// edges are solid and carry the slot where it is not 0; control edges are dashed and grey; edges
// that can be dead, from a Switch, are orange; the edges that close a loop are bold; dotted edges
// lead from a node to the functions that it calls. Works for any program whose edges lead to
// existing nodes.
std::string PrintDot(const Program& program);

}  // namespace gyre
