// A process that a test starts, and one of its streams, read line by line. Its end kills it. One
// owner, one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace gyre::test {

class Process {
 public:
  // `stream`: STDOUT_FILENO or STDERR_FILENO. `variables` are set beside this process's own.
  Process(std::vector<std::string> words, int stream,
          const std::vector<std::pair<std::string, std::string>>& variables = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Empty once nothing has come for half a minute, or nothing will.
  std::string NextLine();
  // Waits until it has ended: its exit code, or that of the signal that ended it, negative.
  int Wait();

 private:
  pid_t pid_ = 0;
  int fd_ = -1;
};

}  // namespace gyre::test
