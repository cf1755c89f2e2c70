// The longest chain of firings within each loop of a timeline. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>

#include "cli/trace/reader.h"

namespace gyre::cli {

struct TraceChain {
  double time = 0;
  int64_t firings = 0;
};

// For every loop, by its place: the chain, by summed time, of firings in the loop (and in loops in
// it) each of which waited for the one before. A call that is not expanded is one firing. Empty
// when the timeline holds no dependencies. Loops deeper than 16 are left out.
std::map<int64_t, TraceChain> LongestChains(const TraceRun& run);

}  // namespace gyre::cli
