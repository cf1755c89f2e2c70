// EndingSignals: SIGTERM, SIGINT and SIGHUP end a command as they would by themselves, but leave no
// unfinished file behind. Signals that somebody has a handler for, or ignores, stay as they are.
// One at a time in a process.
#pragma once

namespace gyre::cli {

class EndingSignals {
 public:
  EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;
  // The signals do what they did before.
  ~EndingSignals();
};

}  // namespace gyre::cli
