#include "soak/process_state.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

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

ProcessState ReadLastingState() {
  ProcessState least = ReadProcessState();
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const ProcessState now = ReadProcessState();
    least.resident_bytes = std::min(least.resident_bytes, now.resident_bytes);
    least.heap_bytes = std::min(least.heap_bytes, now.heap_bytes);
    least.descriptors = now.descriptors;
    least.threads = now.threads;
  }
  return least;
}

std::string ToText(const ProcessState& state) {
  return absl::StrCat(InKiB(state.resident_bytes), " KiB resident, ", InKiB(state.heap_bytes),
                      " KiB of heap, ", state.descriptors, " descriptors, ", state.threads,
                      " threads");
}

}  // namespace gyre::testing
