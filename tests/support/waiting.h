// How long this process has waited for a processor, for tests that hold the clock against a limit:
// what other programs compute meanwhile is not what they measure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gyre::testing {

class ProcessorWait {
 public:
  // Begins now.
  ProcessorWait();
  // Nanoseconds since then in which a thread could have run, but none of the processors was its
  // own: of the thread of this process that has waited longest. Nothing, on a machine that has
  // nothing else to do.
  int64_t LongestNanos() const;

 private:
  std::map<std::string, int64_t> before_;  // by thread
};

}  // namespace gyre::testing
