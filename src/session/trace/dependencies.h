// Which firings each firing of a timeline waited for, found from the graph of tokens that the
// engine ran. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "session/trace/log.h"

namespace gyre::trace {

// By firing: earlier ones whose values or control tokens it took; those that are not in the
// timeline (dead, fed, left out) are missing. Empty vectors throughout where the engine told
// nothing.
std::vector<std::vector<int32_t>> FindDependencies(const Timeline& timeline);

}  // namespace gyre::trace
