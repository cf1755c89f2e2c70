// What a timeline says of a run: where the time went, how far loops overlap, and what they could
// not have overlapped. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/trace/reader.h"

namespace gyre::cli {

struct TraceCost {
  std::string name;
  std::string op;
  int64_t firings = 0;
  double total = 0;  // nanoseconds, as all times here (sums may be beyond int64)
  double longest = 0;
  bool is_call = false;  // the time holds that of what is called
};

// All loops of one name at one place of the program.
struct TraceLoop {
  std::string name;  // with those around it: "outer / inner"
  int64_t entered = 0;
  int64_t begun = 0;     // iterations, with the last one of each loop, which only decides to end
  double time = 0;       // from first to last firing, summed over the loops
  double in_flight = 0;  // summed time of the iterations
  int64_t most_in_flight = 0;
  double work = 0;  // time within its firings
  // The longest chain by time of firings in the loop each of which took a value from, or waited
  // for, the one before: summed over the loops. What no number of threads goes below. -1: the
  // timeline has no dependencies.
  double chain = -1;
  int64_t chain_firings = 0;
};

struct TraceSummary {
  std::string run;
  int64_t firings = 0;
  double time = 0;
  double busy = 0;  // time within some firing, summed over threads
  int64_t threads = 0;
  std::vector<TraceCost> by_op;    // most time first
  std::vector<TraceCost> by_node;  // likewise
  std::vector<TraceLoop> loops;    // outer ones first
  int64_t taken = 0;
  std::vector<int64_t> wakings;  // sorted
};

TraceSummary Summarize(const TraceFile& file, const TraceRun& run);

}  // namespace gyre::cli
