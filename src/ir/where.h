// Lines of a message that say where in a program something happened. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"

namespace gyre {

// "\n  at node x (Mul), written at model.py:12".
std::string NodeText(const Node& node);
// "\n  in iteration 3 of the body (function f) of While node y": that something stands in
// `function`, the callee of `site` with this number; `iteration` counts where the site is a loop.
std::string CallText(const Node& site, int callee, const Function& function, int64_t iteration);

}  // namespace gyre
