// Where a command writes: results to `out`, complaints and progress to `err`. Borrowed from
// the caller, who keeps both streams alive; one command at a time.
#pragma once

#include <ostream>

namespace gyre::cli {

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool interactive = false;  // `err` is a terminal: a progress line may be drawn and redrawn
};

enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // the program ran and failed, or a check did
  kMisuse = 2,   // the command line makes no sense; nothing ran
};

}  // namespace gyre::cli
