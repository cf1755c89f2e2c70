// What `gyre run` watches on request: a timeline, statistics, a trap for NaN, values per iteration.
// Not thread-safe; observers that it hands out are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "cli/streams.h"
#include "gyre/core/debug.h"
#include "ir/program.h"

namespace gyre::cli {

struct WatchOptions {
  std::string trace;  // where to; empty: no timeline
  int64_t trace_limit = 0;
  bool statistics = false;
  bool trap_nan = false;
  std::vector<std::string> each;  // as typed
};

absl::StatusOr<WatchOptions> ReadWatchOptions(const Arguments& arguments);

// "NODE[:SLOT]" of the main graph, "FUNCTION/NODE[:SLOT]" of a function. NOT_FOUND suggests names
// that are close.
absl::StatusOr<WatchedOutput> FindWatched(const Program& program, absl::string_view name);

// What watches the runs of one command line.
class Watch {
 public:
  explicit Watch(const WatchOptions& options) : options_(options) {}

  // Before anything runs; NOT_FOUND as FindWatched. `forms`: what runs in the place of the program,
  // where that has another form: its names count, and a node of a function may go by its own name
  // if no other has it.
  absl::Status Prepare(const Program& program,
                       const std::vector<std::shared_ptr<const Program>>& forms);
  // For one run, called `name` in the timeline; null: nobody watches. Owned by this, for good.
  RunObserver* StartRun(const std::string& name);
  // Prints what was asked for of the run that was started last; results to `out`, the rest to
  // `err`.
  void ReportRun(const Streams& streams) const;
  // Writes the timeline of all runs.
  absl::Status Finish(const Streams& streams) const;

 private:
  // The observers of one run.
  struct OfRun {
    ObserverList all;
    std::unique_ptr<TraceRecorder> recorder;
    std::unique_ptr<StepStatistics> statistics;
    std::unique_ptr<IterationValues> values;
  };
  void PrintValues(const OfRun& run, size_t i, const Streams& streams) const;

  const WatchOptions options_;
  std::vector<WatchedOutput> each_;
  NanTrap trap_;
  std::vector<std::unique_ptr<OfRun>> runs_;
};

}  // namespace gyre::cli
