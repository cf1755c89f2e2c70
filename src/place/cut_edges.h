// How many of a program's edges the devices' borders cross. Stateless; any thread.
#pragma once

#include "place/cut_program.h"

namespace gyre::place {

struct CutEdges {
  int nodes = 0;  // that are needed
  int edges = 0;  // whose ends need not stand together, of values and of control
  int cut = 0;    // of these: whose ends stand on two devices
};

// Edges of what a loop does not change lead from its source to each of its users.
CutEdges CountEdges(const CutProgram& program);

}  // namespace gyre::place
