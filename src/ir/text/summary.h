// What a program consists of, on one screen.
#pragma once

#include <string>

#include "ir/program.h"

namespace gyre {

// Lines of text: how many nodes, functions and loops there are; nodes per op, most frequent first,
// and which of these nobody has registered; each loop with its size and window, indented below the
// loop it stands in; each function with its types and how often it is called. Works for any program
// whose edges lead to existing nodes; where frames make no sense, it says why.
std::string PrintSummary(const Program& program);

}  // namespace gyre
