// `gyre worker` as a process. One owner, one thread; its end kills it.
#pragma once

#include <string>

#include "support/process.h"

namespace gyre::test {

class WorkerProcess {
 public:
  static constexpr char kToken[] = "a token for tests of processes";
  struct Options {
    int failure_ms = 5000;
    int descriptors = 0;  // that it may have; 0: as many as this process
  };

  // Waits until it says where it is.
  explicit WorkerProcess(const Options& options);
  const std::string& address() const { return address_; }
  Process& process() { return process_; }
  const Process& process() const { return process_; }
  // How much /proc lists of it: "fd", "task".
  size_t Count(const std::string& what) const;

 private:
  Process process_;
  std::string address_;
};

}  // namespace gyre::test
