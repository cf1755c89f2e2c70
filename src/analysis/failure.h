// Which nodes cannot fail: they may run where the program would not have run them.
#pragma once

#include <vector>

#include "gyre/core/shape.h"
#include "ir/program.h"

namespace gyre {

// Whether the node's kernel succeeds for all inputs of these shapes, memory permitting: it has a
// kernel for its types, and its op says so (OpDef::failure).
bool CannotFail(const Node& node, const std::vector<PartialShape>& inputs);

}  // namespace gyre
