// Reads a timeline that `gyre run --trace` wrote (src/session/trace/writer.cc). Any file will do:
// what is no timeline is refused with the reason, events of other writers count as far as they have
// a name and a time. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gyre::cli {

struct TraceFiring {
  int name = 0;  // TraceFile::strings
  int op = 0;
  bool is_call = false;
  bool was_taken = false;
  int64_t tid = 0;
  int64_t begin = 0;  // nanoseconds
  int64_t end = 0;
  int64_t place = -1;
  int64_t id = -1;
  uint32_t after_begin = 0;  // TraceRun::after
  uint32_t after_end = 0;
};

struct TracePlace {
  enum class Kind : uint8_t { kLoop, kIteration, kOther };
  Kind kind = Kind::kOther;
  int name = 0;
  int64_t parent = -1;
  int64_t number = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

struct TraceRun {
  std::string name;
  std::vector<TraceFiring> firings;      // in order of time
  std::vector<int64_t> after;            // ids
  std::map<int64_t, TracePlace> places;  // each parent's number is less than its own
  std::vector<int64_t> wakings;          // nanoseconds from asking a thread to its coming
};

struct TraceFile {
  std::vector<std::string> strings;
  std::vector<TraceRun> runs;
  int64_t left_out = 0;
};

// NOT_FOUND as InputFile's; INVALID_ARGUMENT for what is no timeline.
absl::StatusOr<TraceFile> ReadTrace(const std::string& path);

}  // namespace gyre::cli
