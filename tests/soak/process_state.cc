#include "soak/process_state.h"

#include <malloc.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

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
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t kib = 0;
    char what[16];
    if (std::sscanf(line.c_str(), "Rss%15[^:]: %" SCNd64, what, &kib) == 2 &&
        absl::string_view(what) != "File")
      state.resident_bytes += kib * 1024;
  }
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
