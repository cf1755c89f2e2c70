// A timeline in the Trace Event Format ("JSON Object Format"), which chrome://tracing defined:
// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are in
// microseconds, with three digits behind the point.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "gyre/core/debug.h"
#include "session/trace/dependencies.h"
#include "session/trace/lanes.h"
#include "session/trace/log.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace trace {
namespace {

// Tracks beside a thread's own have its number plus a multiple of this.
constexpr int kLaneStride = 10'000'000;
// Of one run, as far as their order goes.
constexpr int kMostProcesses = 1000;

// `text` as a JSON string, quotes included. What is no UTF-8 becomes U+FFFD.
std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Writes the events of one run.
class RunWriter {
 public:
  // The first device of the run is process `pid`, loops are the next one; further devices take
  // numbers from `next_pid`.
  RunWriter(const std::string& run, const Timeline& timeline, int pid, int* next_pid, int64_t base,
            OutputFile& file, bool* is_first)
      : run_(run), timeline_(timeline), pid_(pid), base_(base), file_(file), is_first_(is_first) {
    for (const NodeEntry& node : timeline_.nodes) pid_of_device_.emplace(node.device, pid_);
    for (auto it = pid_of_device_.begin(); it != pid_of_device_.end(); ++it)
      if (it != pid_of_device_.begin()) it->second = (*next_pid)++;
    for (const FiringEntry& firing : timeline_.firings)
      pid_of_thread_.emplace(firing.thread, PidOf(timeline_.nodes[firing.node]));
    for (const JoinEntry& join : timeline_.joins) pid_of_thread_.emplace(join.thread, pid_);
  }

  void Write() {
    WriteFirings();
    WritePlaces();
    for (const JoinEntry& join : timeline_.joins) {
      Event(absl::StrCat(R"({"ph":"i","s":"t","name":"woken","cat":"waking","pid":)",
                         pid_of_thread_.at(join.thread), R"(,"tid":)", join.thread, R"(,"ts":)",
                         Micros(join.joined - base_), R"(,"args":{"latency_us":)",
                         Micros(join.joined - join.asked), "}}"));
    }
  }

 private:
  int PidOf(const NodeEntry& node) const { return pid_of_device_.at(node.device); }

  static void AppendMicros(int64_t nanos, std::string& text) {
    const auto part = static_cast<int>(nanos % 1000);
    const char digits[] = {'.', static_cast<char>('0' + part / 100),
                           static_cast<char>('0' + part / 10 % 10),
                           static_cast<char>('0' + part % 10)};
    absl::StrAppend(&text, nanos / 1000, absl::string_view(digits, sizeof(digits)));
  }
  static std::string Micros(int64_t nanos) {
    std::string text;
    AppendMicros(nanos, text);
    return text;
  }

  void Event(absl::string_view json) {
    // An error stays until the file is committed.
    static_cast<void>(file_.Write(*is_first_ ? "\n" : ",\n"));
    static_cast<void>(file_.Write(json));
    *is_first_ = false;
  }

  // `what`: "process" or "thread"; `more`: further arguments.
  void Name(absl::string_view what, int pid, int tid, const std::string& name, int order,
            absl::string_view more = "") {
    const std::string track = absl::StrCat(R"(,"pid":)", pid, R"(,"tid":)", tid, R"(,"args":{)");
    Event(absl::StrCat(R"({"ph":"M","name":")", what, R"(_name")", track, R"("name":)",
                       Quoted(name), more, "}}"));
    Event(absl::StrCat(R"({"ph":"M","name":")", what, R"(_sort_index")", track, R"("sort_index":)",
                       order, "}}"));
  }

  // The parts of a firing's event that its node tells.
  struct NodeText {
    std::string head;  // up to its process
    std::string args;  // op, function, plumbing
  };

  std::vector<NodeText> NodeTexts() const {
    std::vector<NodeText> texts;
    for (const NodeEntry& node : timeline_.nodes) {
      const absl::string_view category =
          node.is_call ? "call" : absl::string_view(node.is_plumbing ? "plumbing" : "node");
      texts.push_back(
          {absl::StrCat(R"({"ph":"X","name":)", Quoted(node.name), R"(,"cat":")", category,
                        R"(","pid":)", PidOf(node)),
           absl::StrCat(R"("op":)", Quoted(node.op), R"(,"function":)", Quoted(node.function),
                        node.device.empty() ? "" : R"(,"device":)",
                        node.device.empty() ? "" : Quoted(node.device), R"(,"plumbing":)",
                        node.is_plumbing ? "true" : "false")});
    }
    return texts;
  }

  // There may be a million: what their nodes tell is put together once.
  void WriteFirings() {
    NameProcesses();
    const std::vector<NodeText> texts = NodeTexts();
    const std::vector<int> lanes = LayOutFirings(timeline_);
    const std::vector<std::vector<int32_t>> after = FindDependencies(timeline_);
    int32_t place = -1;
    std::string in = R"("")";
    std::string event;
    for (size_t i = 0; i < timeline_.firings.size(); ++i) {
      const FiringEntry& firing = timeline_.firings[i];
      const NodeText& text = texts[firing.node];
      if (firing.place != place) in = Quoted(PlacePath(timeline_, place = firing.place));
      event.clear();
      absl::StrAppend(&event, text.head, R"(,"tid":)", firing.thread + lanes[i] * kLaneStride,
                      R"(,"ts":)");
      AppendMicros(firing.start - base_, event);
      event += R"(,"dur":)";
      AppendMicros(firing.end - firing.start, event);
      absl::StrAppend(&event, R"(,"args":{)", text.args, R"(,"in":)", in, R"(,"place":)",
                      firing.place, R"(,"taken":)", firing.was_taken ? "true" : "false");
      absl::StrAppend(&event, R"(,"id":)", i, R"(,"after":[)", absl::StrJoin(after[i], ","), "]}}");
      Event(event);
    }
    NameThreads(lanes);
  }

  // One for each device; `run` and `first` say to readers what belongs together.
  void NameProcesses() {
    if (pid_of_device_.size() < 2) return Name("process", pid_, 0, run_, Order(0));
    int order = 0;
    for (const auto& [device, pid] : pid_of_device_) {
      Name("process", pid, 0, absl::StrCat(run_, ": ", device), Order(order++),
           absl::StrCat(R"(,"run":)", Quoted(run_), R"(,"first":)", pid_));
    }
  }

  void NameThreads(const std::vector<int>& lanes) {
    std::set<std::pair<int, int>> tracks;  // (thread, lane)
    for (const auto& [thread, pid] : pid_of_thread_) tracks.emplace(thread, 0);
    for (size_t i = 0; i < lanes.size(); ++i) tracks.emplace(timeline_.firings[i].thread, lanes[i]);
    const bool is_one = pid_of_device_.size() < 2;
    int order = 0;
    std::map<int, int> threads;  // by process: so many so far
    int number = 0;
    for (const auto& [thread, lane] : tracks) {
      const int pid = pid_of_thread_.at(thread);
      if (lane == 0) number = is_one ? thread : threads[pid]++;
      std::string name = absl::StrCat("thread ", number);
      if (is_one && thread == 0) absl::StrAppend(&name, " (the caller's)");
      if (lane > 0) absl::StrAppend(&name, ", at the same time ", lane);
      Name("thread", pid, thread + lane * kLaneStride, name, order++);
    }
  }

  void WritePlaces() {
    const PlaceTracks tracks = LayOutPlaces(timeline_);
    if (tracks.slices.empty()) return;
    const int pid = pid_ + 1;
    Name("process", pid, 0, absl::StrCat(run_, ": loops, branches, calls"),
         Order(kMostProcesses - 1));
    for (size_t i = 0; i < tracks.names.size(); ++i)
      Name("thread", pid, static_cast<int>(i), tracks.names[i], static_cast<int>(i));
    for (const PlaceSlice& slice : tracks.slices) {
      const PlaceEntry& place = timeline_.places[slice.place];
      std::string name = PlaceName(place);
      if (place.kind == PlaceEntry::Kind::kIteration)
        absl::StrAppend(&name, "[", place.number, "]");
      Event(absl::StrCat(
          R"({"ph":"X","name":)", Quoted(name), R"(,"cat":")", KindName(place.kind), R"(","pid":)",
          pid, R"(,"tid":)", slice.track, R"(,"ts":)", Micros(slice.time.begin - base_),
          R"(,"dur":)", Micros(slice.time.end - slice.time.begin), R"(,"args":{"name":)",
          Quoted(place.name), R"(,"function":)", Quoted(place.function), R"(,"number":)",
          place.number, R"(,"place":)", slice.place, R"(,"parent":)", place.parent, "}}"));
    }
  }

  // Among the processes of all runs: the `i`th of this one.
  int Order(int i) const { return pid_ * kMostProcesses + std::min(i, kMostProcesses - 1); }

  static absl::string_view KindName(PlaceEntry::Kind kind) {
    switch (kind) {
      case PlaceEntry::Kind::kLoop:
        return "loop";
      case PlaceEntry::Kind::kIteration:
        return "iteration";
      case PlaceEntry::Kind::kBranch:
        return "branch";
      case PlaceEntry::Kind::kCall:
        return "call of a function";
    }
    return "";
  }

  const std::string& run_;
  const Timeline& timeline_;
  const int pid_;
  const int64_t base_;
  std::map<std::string, int> pid_of_device_;
  std::map<int, int> pid_of_thread_;
  OutputFile& file_;
  bool* const is_first_;
};

}  // namespace
}  // namespace trace

namespace {

absl::Status Write(const std::string& path, absl::Span<const TraceRecorder* const> runs) {
  std::vector<trace::Timeline> timelines;
  int64_t base = INT64_MAX;
  int64_t left_out = 0;
  for (const TraceRecorder* run : runs) {
    const trace::Timeline& timeline = timelines.emplace_back(run->log().Merge());
    if (!timeline.firings.empty()) base = std::min(base, timeline.firings.front().start);
    for (const trace::JoinEntry& join : timeline.joins) base = std::min(base, join.asked);
    left_out += timeline.left_out;
  }
  GYRE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Replacing(path));
  GYRE_RETURN_IF_ERROR(file.Write(
      absl::StrCat(R"({"displayTimeUnit":"ns","otherData":{"producer":"gyre","left_out":)",
                   left_out, R"(},"traceEvents":[)")));
  bool is_first = true;
  int next_pid = static_cast<int>(2 * timelines.size() + 1);
  for (size_t i = 0; i < timelines.size(); ++i) {
    const int pid = static_cast<int>(2 * i + 1);
    trace::RunWriter(runs[i]->log().run(), timelines[i], pid, &next_pid, base, file, &is_first)
        .Write();
    timelines[i] = trace::Timeline();
  }
  GYRE_RETURN_IF_ERROR(file.Write("\n]}\n"));
  return file.Commit();
}

}  // namespace

absl::Status WriteTrace(const std::string& path, absl::Span<const TraceRecorder* const> runs) {
  return CatchOutOfMemory("this timeline", [&] { return Write(path, runs); });
}

}  // namespace gyre
