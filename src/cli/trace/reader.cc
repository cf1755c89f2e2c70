#include "cli/trace/reader.h"

#include <algorithm>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

using Json = nlohmann::json;

// Times beyond this (some twelve days) are no times; sums of thousands of them stay in int64.
constexpr double kMaxMicros = 1e12;

std::string Text(const Json& object, const char* key, const char* otherwise = "") {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

int64_t Int(const Json& object, const char* key, int64_t otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : otherwise;
}

bool Bool(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// Nanoseconds; false when it is no sound time.
bool Time(const Json& object, const char* key, int64_t* nanos) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return false;
  const double micros = it->get<double>();
  if (!(std::abs(micros) <= kMaxMicros)) return false;
  *nanos = std::llround(micros * 1e3);
  return true;
}

// Takes events one by one, as the parser meets them: the file need not fit in memory as JSON.
class Collector {
 public:
  void Add(const Json& event) {
    if (!event.is_object()) return;
    const std::string phase = Text(event, "ph");
    const int64_t process = Int(event, "pid", 0);
    const auto found = event.find("args");
    const Json& args = found != event.end() && found->is_object() ? *found : kNothing;
    if (phase == "M" && Text(event, "name") == "process_name") {
      // Of a run on several devices: each is a process.
      const int64_t first = first_[process] = Int(args, "first", process);
      names_[first] = Text(args, args.contains("run") ? "run" : "name");
    }
    const auto it = first_.find(process);
    const int64_t pid = it == first_.end() ? process : it->second;
    if (phase == "i" && Text(event, "cat") == "waking") {
      int64_t latency = 0;
      if (Time(args, "latency_us", &latency)) runs_[pid].wakings.push_back(latency);
    } else if (phase == "X") {
      AddSlice(event, args, pid);
    }
  }

  TraceFile Finish(int64_t left_out) {
    file_.left_out = left_out;
    for (auto& [pid, run] : runs_) {
      if (run.firings.empty()) continue;
      run.name = names_.count(pid) > 0 ? names_[pid] : absl::StrCat("process ", pid);
      // Loops and the like stand in the process after that of the threads.
      if (const auto places = places_.find(pid + 1); places != places_.end())
        run.places = std::move(places->second);
      std::stable_sort(run.firings.begin(), run.firings.end(), [](const auto& a, const auto& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.id < b.id;
      });
      file_.runs.push_back(std::move(run));
    }
    return std::move(file_);
  }

 private:
  int Intern(const std::string& text) {
    const auto [it, is_new] = ids_.try_emplace(text, static_cast<int>(file_.strings.size()));
    if (is_new) file_.strings.push_back(text);
    return it->second;
  }

  void AddSlice(const Json& event, const Json& args, int64_t pid) {
    int64_t begin = 0, length = 0;
    if (!Time(event, "ts", &begin) || !Time(event, "dur", &length) || length < 0) return;
    const std::string category = Text(event, "cat");
    if (const int64_t place = Int(args, "place", -1); place >= 0 && !args.contains("op")) {
      TracePlace& p = places_[pid][place];
      p.kind = category == "loop"        ? TracePlace::Kind::kLoop
               : category == "iteration" ? TracePlace::Kind::kIteration
                                         : TracePlace::Kind::kOther;
      p.name = Intern(Text(args, "name"));
      p.parent = std::clamp<int64_t>(Int(args, "parent", -1), -1, place - 1);
      p.number = Int(args, "number", 0);
      p.begin = begin;
      p.end = begin + length;
      return;
    }
    TraceRun& run = runs_[pid];
    TraceFiring firing;
    const std::string function = Text(args, "function");
    const std::string name = Text(event, "name");
    firing.name = Intern(function.empty() ? name : absl::StrCat(function, "/", name));
    firing.op = Intern(Text(args, "op", "(none)"));
    firing.is_call = category == "call";
    firing.was_taken = Bool(args, "taken");
    firing.tid = Int(event, "tid", 0);
    firing.begin = begin;
    firing.end = begin + length;
    firing.place = Int(args, "place", -1);
    firing.id = Int(args, "id", -1);
    firing.after_begin = static_cast<uint32_t>(run.after.size());
    if (const auto after = args.find("after"); after != args.end() && after->is_array()) {
      for (const Json& id : *after)
        if (id.is_number_integer()) run.after.push_back(id.get<int64_t>());
    }
    firing.after_end = static_cast<uint32_t>(run.after.size());
    run.firings.push_back(firing);
  }

  static inline const Json kNothing = Json::object();
  TraceFile file_;
  HashMap<std::string, int> ids_;
  std::map<int64_t, int64_t> first_;                         // by process: the run's first
  std::map<int64_t, std::string> names_;                     // by first process
  std::map<int64_t, TraceRun> runs_;                         // likewise
  std::map<int64_t, std::map<int64_t, TracePlace>> places_;  // likewise
};

// A file as a stream: it may be larger than memory.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(const InputFile& file) : file_(file), chunk_(kChunk, '\0') {}
  // The stream ends where there is an error.
  const absl::Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    const int64_t bytes = std::min(kChunk, file_.size() - at_);
    if (bytes > 0 && status_.ok()) status_ = file_.ReadAt(at_, chunk_.data(), bytes);
    if (bytes <= 0 || !status_.ok()) return traits_type::eof();
    at_ += bytes;
    setg(chunk_.data(), chunk_.data(), chunk_.data() + bytes);
    return traits_type::to_int_type(chunk_[0]);
  }

 private:
  static constexpr int64_t kChunk = 1 << 16;
  const InputFile& file_;
  std::string chunk_;
  int64_t at_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<TraceFile> ReadTrace(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  FileBuffer buffer(file);
  std::istream stream(&buffer);
  Collector collector;
  bool has_events = false;  // the list of events has begun
  int depth_of_events = -1;
  const auto take = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::array_start && depth == 0) {
      depth_of_events = 1;
      has_events = true;
    } else if (event == Event::key && depth == 1) {
      depth_of_events = value == "traceEvents" ? 2 : -1;
      has_events |= depth_of_events == 2;
    } else if (event == Event::object_end && depth == depth_of_events) {
      collector.Add(value);
      return false;  // not kept
    }
    return true;
  };
  Json rest;
  try {
    rest = Json::parse(stream, take);
  } catch (const Json::exception& error) {
    GYRE_RETURN_IF_ERROR(buffer.status());
    return absl::InvalidArgumentError(absl::StrCat(path, " is no timeline: ", error.what()));
  }
  if (!has_events) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no timeline: it has no list of events (traceEvents)"));
  }
  int64_t left_out = 0;
  if (rest.is_object() && rest.contains("otherData") && rest["otherData"].is_object())
    left_out = Int(rest["otherData"], "left_out", 0);
  return collector.Finish(left_out);
}

}  // namespace gyre::cli
