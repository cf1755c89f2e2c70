#include "soak/process_state.h"

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace gyre::testing {
namespace {

int64_t CountEntries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

int64_t InKiB(int64_t bytes) { return bytes / 1024; }

}  // namespace

ProcessState ReadProcessState() {
  malloc_trim(0);
  ProcessState state;
  int64_t pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  state.resident_bytes = resident_pages * sysconf(_SC_PAGESIZE);
  const struct mallinfo2 heap = mallinfo2();
  state.heap_bytes = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
  state.descriptors = CountEntries("/proc/self/fd");
  state.threads = CountEntries("/proc/self/task");
  return state;
}

std::string ToText(const ProcessState& state) {
  return absl::StrCat(InKiB(state.resident_bytes), " KiB resident, ", InKiB(state.heap_bytes),
                      " KiB of heap, ", state.descriptors, " descriptors, ", state.threads,
                      " threads");
}

}  // namespace gyre::testing
