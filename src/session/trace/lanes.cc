#include "session/trace/lanes.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace gyre::trace {
namespace {

// Recursion has more around it than anybody reads.
constexpr int kMaxPath = 8;

std::vector<Interval> Intervals(const Timeline& timeline) {
  std::vector<Interval> times(timeline.places.size());
  const auto grow = [&](int32_t place, int64_t begin, int64_t end) {
    times[place].begin = std::min(times[place].begin, begin);
    times[place].end = std::max(times[place].end, end);
  };
  for (const FiringEntry& firing : timeline.firings) {
    if (firing.place >= 0) grow(firing.place, firing.start, firing.end);
  }
  for (size_t i = timeline.places.size(); i > 0; --i) {
    const int32_t parent = timeline.places[i - 1].parent;
    const Interval& time = times[i - 1];
    if (parent >= 0 && time.begin <= time.end) grow(parent, time.begin, time.end);
  }
  return times;
}

// Tracks of places that have one name: each holds slices that do not overlap.
struct Pool {
  std::string name;
  std::vector<std::map<int64_t, int64_t>> busy;  // by track: begin → end
  std::vector<int> tracks;
};

bool IsFree(const std::map<int64_t, int64_t>& busy, const Interval& time) {
  const auto after = busy.upper_bound(time.begin);
  if (after != busy.end() && after->first < time.end) return false;
  return after == busy.begin() || std::prev(after)->second <= time.begin;
}

class Layout {
 public:
  explicit Layout(const Timeline& timeline)
      : timeline_(timeline), times_(Intervals(timeline)), children_(timeline.places.size() + 1) {
    for (size_t i = 0; i < times_.size(); ++i) {
      if (times_[i].begin <= times_[i].end)
        children_[timeline.places[i].parent + 1].push_back(static_cast<int32_t>(i));
    }
    for (std::vector<int32_t>& siblings : children_) {
      std::stable_sort(siblings.begin(), siblings.end(),
                       [this](int32_t a, int32_t b) { return times_[a].begin < times_[b].begin; });
    }
  }

  PlaceTracks Make() {
    for (const int32_t place : children_[0]) Put(place, TrackFor(place));
    return std::move(result_);
  }

 private:
  // Depth is bounded by what engines tell of the surroundings of a node.
  void Put(int32_t place, int track) {
    result_.slices.push_back({place, times_[place], track});
    int64_t busy_until = times_[place].begin;
    for (const int32_t child : children_[place + 1]) {
      if (times_[child].begin >= busy_until) {
        busy_until = times_[child].end;
        Put(child, track);
      } else {
        Put(child, TrackFor(child));
      }
    }
  }

  int TrackFor(int32_t place) {
    const Interval& time = times_[place];
    Pool& pool = pools_[NamePath(place)];
    for (size_t i = 0;; ++i) {
      if (i == pool.busy.size()) {
        pool.busy.emplace_back();
        pool.tracks.push_back(static_cast<int>(result_.names.size()));
        const std::string name = NamePath(place);
        result_.names.push_back(i == 0 ? name : absl::StrCat(name, " (", i + 1, ")"));
      }
      if (!IsFree(pool.busy[i], time)) continue;
      pool.busy[i].emplace(time.begin, time.end);
      return pool.tracks[i];
    }
  }

  // The names of the loops, branches and calls around it, without the numbers of iterations.
  std::string NamePath(int32_t place) const {
    std::string path;
    int shown = 0;
    for (; place >= 0 && shown < kMaxPath; place = timeline_.places[place].parent) {
      const PlaceEntry& p = timeline_.places[place];
      if (p.kind == PlaceEntry::Kind::kIteration) continue;
      path = path.empty() ? PlaceName(p) : absl::StrCat(PlaceName(p), " / ", path);
      ++shown;
    }
    return place >= 0 ? absl::StrCat("… ", path) : path;
  }

  const Timeline& timeline_;
  const std::vector<Interval> times_;
  std::vector<std::vector<int32_t>> children_;  // by parent + 1, in order of time
  std::map<std::string, Pool> pools_;
  PlaceTracks result_;
};

}  // namespace

PlaceTracks LayOutPlaces(const Timeline& timeline) { return Layout(timeline).Make(); }

std::vector<int> LayOutFirings(const Timeline& timeline) {
  std::vector<int> lanes(timeline.firings.size());
  std::map<int, std::vector<std::vector<int64_t>>>
      open;  // by thread, by lane: ends, outermost first
  for (size_t i = 0; i < timeline.firings.size(); ++i) {
    const FiringEntry& firing = timeline.firings[i];
    std::vector<std::vector<int64_t>>& of_thread = open[firing.thread];
    size_t lane = 0;
    for (;; ++lane) {
      if (lane == of_thread.size()) of_thread.emplace_back();
      std::vector<int64_t>& ends = of_thread[lane];
      while (!ends.empty() && ends.back() <= firing.start) ends.pop_back();
      if (ends.empty() || ends.back() >= firing.end) break;
    }
    of_thread[lane].push_back(firing.end);
    lanes[i] = static_cast<int>(lane);
  }
  return lanes;
}

std::string PlaceName(const PlaceEntry& place) {
  switch (place.kind) {
    case PlaceEntry::Kind::kLoop:
    case PlaceEntry::Kind::kIteration:
      return place.name;
    case PlaceEntry::Kind::kBranch:
      return absl::StrCat(place.name, ": ", place.function);
    case PlaceEntry::Kind::kCall:
      return place.name == place.function ? place.name
                                          : absl::StrCat(place.name, ": ", place.function);
  }
  return place.name;
}

std::string PlacePath(const Timeline& timeline, int32_t place) {
  std::string path;
  int shown = 0;
  while (place >= 0 && shown < kMaxPath) {
    const PlaceEntry& p = timeline.places[place];
    std::string name = PlaceName(p);
    if (p.kind == PlaceEntry::Kind::kIteration) absl::StrAppend(&name, "[", p.number, "]");
    path = path.empty() ? name : absl::StrCat(name, " ", path);
    ++shown;
    place = p.parent;
    // The iteration says which loop it is of.
    if (p.kind == PlaceEntry::Kind::kIteration && place >= 0) place = timeline.places[place].parent;
  }
  return place >= 0 ? absl::StrCat("… ", path) : path;
}

}  // namespace gyre::trace
