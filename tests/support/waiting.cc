#include "support/waiting.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace gyre::testing {
namespace {

// By thread, since it began.
std::map<std::string, int64_t> Waits() {
  std::map<std::string, int64_t> waits;
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::ifstream statistics(thread.path() / "schedstat");
    int64_t ran = 0, waited = 0;
    if (statistics >> ran >> waited) waits[thread.path().filename()] = waited;
  }
  return waits;
}

}  // namespace

ProcessorWait::ProcessorWait() : before_(Waits()) {}

int64_t ProcessorWait::LongestNanos() const {
  int64_t longest = 0;
  for (const auto& [thread, waited] : Waits()) {
    const auto before = before_.find(thread);
    longest = std::max(longest, waited - (before == before_.end() ? 0 : before->second));
  }
  return longest;
}

}  // namespace gyre::testing
