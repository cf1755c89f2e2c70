// Lines of a message that say where in a program something happened. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"

namespace gyre {

// "\n  at node x (Mul), written at model.py:12".
std::string NodeText(const Node& node);
// Deep recursion and nesting would print for ever: so many lines of calls, and then this one.
inline constexpr int kMaxCallsShown = 8;
inline constexpr char kMoreCalls[] = "\n  … and in the calls around that";

// "\n  in iteration 3 of the body (function f) of While node y": that something stands in
// `function`, the callee of `structured` with this number; `iteration` counts where the structured
// node is a loop.
std::string CallText(const Node& structured, int callee, const Function& function,
                     int64_t iteration);

}  // namespace gyre
