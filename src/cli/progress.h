// RunProgressLine: says where a run is while it goes on.
//
// On a terminal, a line at its bottom: after a second, then twice a second, gone when the run has
// ended. Terminal or not, a line of its own whenever the process gets SIGUSR1. The engine is asked
// through a ProgressProbe, and answers between two nodes.
//
// One at a time in a process: it owns the handler of SIGUSR1 while it lives. Methods are called by
// one thread; answers come from the threads of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/streams.h"
#include "gyre/core/observer.h"

namespace gyre::cli {

class RunProgressLine {
 public:
  explicit RunProgressLine(const Streams& streams);
  ~RunProgressLine();
  RunProgressLine(const RunProgressLine&) = delete;
  RunProgressLine& operator=(const RunProgressLine&) = delete;

  ProgressProbe* probe();
  // Around each run.
  void Begin();
  void End();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// Where a run was, and when.
struct ProgressSample {
  RunProgress progress;
  int64_t nanos = 0;  // since the run began
};

// "12 s: iteration 41 of outer (3.4/s), 18211 of inner (210k/s), at mul". Rates are those since
// `last`, where that was in the same loop; of an outermost loop otherwise since the run began.
std::string DescribeProgress(const ProgressSample& last, const ProgressSample& now);

}  // namespace gyre::cli
