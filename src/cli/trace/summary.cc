#include "cli/trace/summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "cli/trace/chain.h"

namespace gyre::cli {
namespace {

// Tracks beside a thread's own: see kLaneStride of the writer.
constexpr int64_t kLaneStride = 10'000'000;
constexpr int kMostNames = 8;  // of loops around a loop

std::vector<TraceCost> Costs(const TraceFile& file, const TraceRun& run, bool by_node) {
  HashMap<std::pair<int, int>, TraceCost> costs;
  for (const TraceFiring& firing : run.firings) {
    TraceCost& cost = costs[{by_node ? firing.name : -1, firing.op}];
    const auto time = static_cast<double>(firing.end - firing.begin);
    ++cost.firings;
    cost.total += time;
    cost.longest = std::max(cost.longest, time);
    cost.is_call |= firing.is_call;
    if (by_node) cost.name = file.strings[firing.name];
    cost.op = file.strings[firing.op];
  }
  std::vector<TraceCost> sorted;
  for (auto& [key, cost] : costs) sorted.push_back(std::move(cost));
  std::sort(sorted.begin(), sorted.end(), [](const TraceCost& a, const TraceCost& b) {
    if (a.total != b.total) return a.total > b.total;
    return std::tie(a.name, a.op) < std::tie(b.name, b.op);
  });
  return sorted;
}

// Time in which each thread was within a firing, calls aside.
void AddThreads(const TraceRun& run, TraceSummary& summary) {
  std::map<int64_t, int64_t> busy_until;
  for (const TraceFiring& firing : run.firings) {
    if (firing.is_call) continue;
    const auto [it, is_new] = busy_until.try_emplace(firing.tid % kLaneStride, firing.begin);
    const int64_t begin = std::max(it->second, firing.begin);
    summary.busy += static_cast<double>(std::max<int64_t>(firing.end - begin, 0));
    it->second = std::max(it->second, firing.end);
  }
  summary.threads = static_cast<int64_t>(busy_until.size());
}

class Loops {
 public:
  Loops(const TraceFile& file, const TraceRun& run) : file_(file), run_(run) {}

  std::vector<TraceLoop> Make() {
    for (const auto& [id, place] : run_.places) {
      if (place.kind == TracePlace::Kind::kLoop) AddLoop(id, place);
    }
    AddIterations();
    AddWork();
    AddChains();
    return std::move(loops_);
  }

 private:
  using Events = std::vector<std::pair<int64_t, int>>;  // (when, +1 or -1)

  const TracePlace* Find(int64_t id) const {
    const auto it = run_.places.find(id);
    return it == run_.places.end() ? nullptr : &it->second;
  }

  std::string Path(const TracePlace& loop) const {
    std::string path = file_.strings[loop.name];
    int shown = 1;
    const TracePlace* place = Find(loop.parent);
    for (; place != nullptr && shown < kMostNames; place = Find(place->parent)) {
      if (place->kind != TracePlace::Kind::kLoop) continue;
      path = absl::StrCat(file_.strings[place->name], " / ", path);
      ++shown;
    }
    return place == nullptr ? path : absl::StrCat("… / ", path);
  }

  void AddLoop(int64_t id, const TracePlace& place) {
    const auto [it, is_new] = by_path_.try_emplace(Path(place), loops_.size());
    if (is_new) loops_.emplace_back().name = it->first;
    TraceLoop& loop = loops_[it->second];
    ++loop.entered;
    loop.time += static_cast<double>(place.end - place.begin);
    of_place_[id] = it->second;
  }

  void AddIterations() {
    HashMap<int64_t, Events> of_loop;
    for (const auto& [id, place] : run_.places) {
      const auto it = of_place_.find(place.parent);
      if (place.kind != TracePlace::Kind::kIteration || it == of_place_.end()) continue;
      TraceLoop& loop = loops_[it->second];
      ++loop.begun;
      loop.in_flight += static_cast<double>(place.end - place.begin);
      Events& events = of_loop[place.parent];
      events.emplace_back(place.begin, 1);
      events.emplace_back(place.end, -1);
    }
    for (auto& [id, events] : of_loop) {
      std::sort(events.begin(), events.end());  // at one time, ends come first
      TraceLoop& loop = loops_[of_place_[id]];
      int64_t now = 0;
      for (const auto& [when, change] : events)
        loop.most_in_flight = std::max(loop.most_in_flight, now += change);
    }
  }

  void AddWork() {
    for (const TraceFiring& firing : run_.firings) {
      if (firing.is_call) continue;
      for (const TracePlace* place = Find(firing.place); place != nullptr;
           place = Find(place->parent)) {
        // An iteration's parent is its loop.
        const auto it = of_place_.find(place->parent);
        if (place->kind == TracePlace::Kind::kIteration && it != of_place_.end())
          loops_[it->second].work += static_cast<double>(firing.end - firing.begin);
      }
    }
  }

  void AddChains() {
    for (const auto& [id, chain] : LongestChains(run_)) {
      const auto it = of_place_.find(id);
      if (it == of_place_.end()) continue;
      TraceLoop& loop = loops_[it->second];
      loop.chain = std::max(loop.chain, 0.0) + chain.time;
      loop.chain_firings += chain.firings;
    }
  }

  const TraceFile& file_;
  const TraceRun& run_;
  std::vector<TraceLoop> loops_;
  std::map<std::string, size_t> by_path_;
  HashMap<int64_t, size_t> of_place_;  // of a loop's place: which of loops_
};

}  // namespace

TraceSummary Summarize(const TraceFile& file, const TraceRun& run) {
  TraceSummary summary;
  summary.run = run.name;
  summary.firings = static_cast<int64_t>(run.firings.size());
  if (!run.firings.empty()) {
    int64_t end = run.firings.front().end;
    for (const TraceFiring& firing : run.firings) end = std::max(end, firing.end);
    summary.time = static_cast<double>(end - run.firings.front().begin);
  }
  for (const TraceFiring& firing : run.firings) summary.taken += firing.was_taken;
  AddThreads(run, summary);
  summary.by_op = Costs(file, run, false);
  summary.by_node = Costs(file, run, true);
  summary.loops = Loops(file, run).Make();
  summary.wakings = run.wakings;
  std::sort(summary.wakings.begin(), summary.wakings.end());
  return summary;
}

}  // namespace gyre::cli
