#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gyre/core/debug.h"
#include "session/surroundings.h"
#include "session/trace/log.h"

namespace gyre {
namespace trace {

int32_t* PlaceTable::Slot(PlaceEntry::Kind kind, int32_t parent, uint64_t key) {
  return &ids_.try_emplace(Key{kind, parent, key}, -1).first->second;
}

int32_t PlaceTable::Intern(PlaceEntry place) {
  int32_t* const slot = Slot(place.kind, place.parent, place.key);
  if (*slot < 0) {
    places_.push_back(std::move(place));
    *slot = static_cast<int32_t>(places_.size() - 1);
  }
  return *slot;
}

// The place of around[i] within `parent`. A loop is two: its frame, and the iteration.
int32_t PlaceTable::Child(int32_t parent, absl::Span<const Surrounding> around, size_t i) {
  const Surrounding& s = around[i];
  const auto intern = [&](PlaceEntry::Kind kind, int32_t within, uint64_t key, int64_t number) {
    int32_t* const slot = Slot(kind, within, key);
    if (*slot < 0) {
      places_.push_back({kind, within, std::string(s.name), std::string(s.function), key, number});
      *slot = static_cast<int32_t>(places_.size() - 1);
    }
    return *slot;
  };
  if (s.kind == Surrounding::Kind::kBranch)
    return intern(PlaceEntry::Kind::kBranch, parent, s.instance, s.iteration);
  if (s.kind == Surrounding::Kind::kCall)
    return intern(PlaceEntry::Kind::kCall, parent, s.instance, 0);
  const int32_t loop = intern(PlaceEntry::Kind::kLoop, parent, LoopInstance(around, i), 0);
  return intern(PlaceEntry::Kind::kIteration, loop, static_cast<uint64_t>(s.iteration),
                s.iteration);
}

int32_t PlaceTable::Find(absl::Span<const Surrounding> around) {
  if (around.empty()) return -1;
  // An instance is that of no other loop or call, whatever is around it.
  const Surrounding& inner = around.back();
  if (around.size() == last_depth_ && inner.kind == last_.kind &&
      inner.instance == last_.instance && inner.iteration == last_.iteration)
    return last_place_;
  int32_t place = -1;
  for (size_t i = 0; i < around.size(); ++i) place = Child(place, around, i);
  last_ = {.kind = inner.kind, .iteration = inner.iteration, .instance = inner.instance};
  last_depth_ = around.size();
  last_place_ = place;
  return place;
}

// Stands for a node that is not there: not yet, or because there was no memory for it.
constexpr uint32_t kNoNode = std::numeric_limits<uint32_t>::max();

uint32_t Log::NodeOf(Shard& shard, const Firing& firing) {
  const absl::string_view function =
      firing.is_plumbing ? "" : FunctionAt(firing.around, firing.around.size());
  const auto make = [&] {
    NodeEntry node{.name = std::string(firing.node),
                   .op = std::string(firing.op),
                   .function = std::string(function),
                   .device = std::string(firing.device),
                   .is_plumbing = firing.is_plumbing,
                   .is_call = firing.is_call};
    if (firing.origin != nullptr) {
      node.graph = firing.origin->graph;
      node.number = firing.origin->node;
      node.sources.assign(firing.origin->sources.begin(), firing.origin->sources.end());
    }
    shard.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(shard.nodes.size() - 1);
  };
  if (firing.origin != nullptr) {
    uint32_t& number =
        shard.by_number.try_emplace({firing.origin->graph, firing.origin->node}, kNoNode)
            .first->second;
    if (number == kNoNode) number = make();
    return number;
  }
  uint32_t& number =
      shard.by_name.try_emplace(absl::StrCat(function, "\n", firing.node, "\n", firing.op), kNoNode)
          .first->second;
  if (number == kNoNode) number = make();
  return number;
}

void Log::Add(const Firing& firing) {
  if (fired_.fetch_add(1, std::memory_order_relaxed) >= max_firings_) return;
  Shard& shard = shards_[static_cast<size_t>(firing.thread) % kShards];
  const std::lock_guard lock(shard.mutex);
  FiringEntry entry{NodeOf(shard, firing), shard.places.Find(firing.around),
                    firing.thread,         firing.was_taken,
                    firing.start_nanos,    firing.end_nanos};
  if (const TokenOrigin* const origin = firing.origin; origin != nullptr) {
    entry.frame = origin->frame;
    entry.iteration = origin->iteration;
    shard.outers.try_emplace(origin->frame, origin->outer_frame, origin->outer_iteration);
  }
  shard.firings.push_back(entry);
}

void Log::AddJoin(const JoinEntry& join) {
  Shard& shard = shards_[static_cast<size_t>(join.thread) % kShards];
  const std::lock_guard lock(shard.mutex);
  if (static_cast<int64_t>(shard.joins.size()) < max_firings_) shard.joins.push_back(join);
}

int64_t Log::recorded() const {
  return std::min(fired_.load(std::memory_order_relaxed), max_firings_);
}

int64_t Log::left_out() const { return fired_.load(std::memory_order_relaxed) - recorded(); }

Timeline Log::Merge() const {
  Timeline all;
  PlaceTable places;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    std::vector<int32_t> moved;  // places of the shard: which of `places` they are
    for (PlaceEntry place : shard.places.places()) {
      if (place.parent >= 0) place.parent = moved[place.parent];
      moved.push_back(places.Intern(std::move(place)));
    }
    const auto first_node = static_cast<uint32_t>(all.nodes.size());
    all.nodes.insert(all.nodes.end(), shard.nodes.begin(), shard.nodes.end());
    for (FiringEntry firing : shard.firings) {
      firing.node += first_node;
      if (firing.place >= 0) firing.place = moved[firing.place];
      all.firings.push_back(firing);
    }
    all.joins.insert(all.joins.end(), shard.joins.begin(), shard.joins.end());
    all.outers.insert(shard.outers.begin(), shard.outers.end());
  }
  all.places = places.places();
  all.left_out = left_out();
  // What spans others comes before them.
  std::stable_sort(all.firings.begin(), all.firings.end(), [](const auto& a, const auto& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  return all;
}

}  // namespace trace

TraceRecorder::TraceRecorder(std::string run, const TraceOptions& options)
    : log_(std::make_unique<trace::Log>(std::move(run),
                                        std::max<int64_t>(options.max_firings, 0))) {}
TraceRecorder::~TraceRecorder() = default;

absl::Status TraceRecorder::OnFired(const Firing& firing) {
  log_->Add(firing);
  return absl::OkStatus();
}

void TraceRecorder::OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) {
  log_->AddJoin({thread, asked_nanos, joined_nanos});
}

int64_t TraceRecorder::recorded() const { return log_->recorded(); }
int64_t TraceRecorder::left_out() const { return log_->left_out(); }

}  // namespace gyre
