// What a command has of its program. Results go to `out`, complaints and progress to `err`:
// borrowed from the caller, who keeps both streams alive; one command at a time.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace gyre::cli {

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool interactive = false;  // `err` is a terminal: a progress line may be drawn and redrawn
  std::vector<std::string> restart = {};  // words that start the program again; none: its own file
};

enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // the program ran and failed, or a check did
  kMisuse = 2,   // the command line makes no sense; nothing ran
};

}  // namespace gyre::cli
