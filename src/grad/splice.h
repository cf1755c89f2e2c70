// Splice: the nodes of a function in the midst of another.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "ir/builder.h"

namespace gyre::grad {

// Copies the nodes of `function`, whose arguments are `args`, to the end of `into`; returns its
// results. Requirement, not checked: as many args as it has, of their
// types; `function` was written from the first node to the last.
std::vector<Endpoint> Splice(const Function& function, const std::vector<Endpoint>& args,
                             FunctionBuilder& into);

}  // namespace gyre::grad
