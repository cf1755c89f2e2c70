// What may be asked of a run while it goes on: statistics, a timeline, and where it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "gyre/core/debug.h"
#include "gyre/core/options.h"
#include "gyre/core/session.h"
#include "python/python.h"

namespace gyre::python {

// Lives as long as the run. Made and destroyed with the GIL held.
class WatchedRun {
 public:
  struct Wishes {
    bool statistics = false;
    std::string timeline;     // a file; empty: none
    nb::object progress;      // a callable; null: nobody asks
    int64_t progress_ms = 0;  // how often
  };
  // An exception of `progress` ends the run through `cancellation`.
  WatchedRun(Wishes wishes, Cancellation& cancellation);

  // Adds what watches the run to its options.
  void AddTo(RunOptions& options);
  // Once the run has ended: stops asking, and writes the timeline, if anything has been recorded.
  void Finish();
  // Empty unless statistics were wished for.
  nb::dict statistics() const;

 private:
  void Tell(const RunProgress& progress);

  const Wishes wishes_;
  Cancellation& cancellation_;
  const int64_t begin_;
  ObserverList observers_;
  std::optional<StepStatistics> statistics_;
  std::optional<TraceRecorder> recorder_;
  std::optional<ProgressProbe> probe_;
  std::optional<Ticker> ticker_;
};

}  // namespace gyre::python
