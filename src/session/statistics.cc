#include <algorithm>
#include <mutex>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "gyre/core/debug.h"
#include "session/surroundings.h"

namespace gyre {
namespace {

// How far one loop got, from when it was entered. The last iteration is the one whose condition
// said no, where the condition was seen: its number is how often the body ran.
struct Progress {
  int64_t highest = 0;
  bool has_condition = false;
  int64_t iterations() const { return has_condition ? highest : highest + 1; }
};

struct LoopTotals {
  LoopStatistics statistics;
  HashMap<uint64_t, Progress> entered;  // by LoopInstance
};

std::string Key(absl::string_view function, absl::string_view name, absl::string_view op) {
  return absl::StrCat(function, "\n", name, "\n", op);
}

}  // namespace

struct StepStatistics::State {
  mutable std::mutex mutex;  // guards all
  HashMap<std::string, NodeStatistics> nodes;
  HashMap<std::string, LoopTotals> loops;
  HashMap<std::pair<std::string, std::string>, SavedStatistics> saved;
  int64_t peak_bytes = 0;

  void AddNode(const Firing& firing);
  void AddLoops(const Firing& firing);
  void AddSaved(const Firing& firing);
};

void StepStatistics::State::AddNode(const Firing& firing) {
  const absl::string_view function =
      firing.is_plumbing ? "" : FunctionAt(firing.around, firing.around.size());
  NodeStatistics& node = nodes[Key(function, firing.node, firing.op)];
  if (node.firings == 0) {
    node.name = std::string(firing.node);
    node.function = std::string(function);
    node.op = std::string(firing.op);
    node.device = std::string(firing.device);
    node.is_plumbing = firing.is_plumbing;
    node.is_call = firing.is_call;
  }
  const int64_t nanos = firing.end_nanos - firing.start_nanos;
  ++node.firings;
  node.total_nanos += nanos;
  node.max_nanos = std::max(node.max_nanos, nanos);
  node.bytes += firing.bytes;
}

void StepStatistics::State::AddLoops(const Firing& firing) {
  for (size_t i = 0; i < firing.around.size(); ++i) {
    const Surrounding& s = firing.around[i];
    if (!IsLoop(s.kind)) continue;
    const absl::string_view function = FunctionAt(firing.around, i);
    LoopTotals& loop = loops[Key(function, s.name, "")];
    if (loop.entered.empty()) {
      loop.statistics.name = std::string(s.name);
      loop.statistics.function = std::string(function);
    }
    Progress& progress = loop.entered[LoopInstance(firing.around, i)];
    progress.highest = std::max(progress.highest, s.iteration);
    const bool is_innermost = i + 1 == firing.around.size();
    progress.has_condition |=
        s.kind != Surrounding::Kind::kBody || (is_innermost && firing.is_plumbing);
  }
}

void StepStatistics::State::AddSaved(const Firing& firing) {
  if (firing.saved_value.empty()) return;
  SavedStatistics& value =
      saved[{std::string(firing.saving_loop), std::string(firing.saved_value)}];
  ++value.times;
  value.bytes += firing.saved_bytes;
}

StepStatistics::StepStatistics() : state_(std::make_unique<State>()) {}
StepStatistics::~StepStatistics() = default;

absl::Status StepStatistics::OnFired(const Firing& firing) {
  const std::lock_guard lock(state_->mutex);
  state_->AddNode(firing);
  state_->AddLoops(firing);
  state_->AddSaved(firing);
  return absl::OkStatus();
}

void StepStatistics::OnEnded(const RunTotals& totals) {
  const std::lock_guard lock(state_->mutex);
  state_->peak_bytes = std::max(state_->peak_bytes, totals.peak_bytes);
}

std::vector<NodeStatistics> StepStatistics::nodes() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<NodeStatistics> nodes;
  for (const auto& [key, node] : state_->nodes) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end(), [](const NodeStatistics& a, const NodeStatistics& b) {
    if (a.total_nanos != b.total_nanos) return a.total_nanos > b.total_nanos;
    return std::tie(a.function, a.name) < std::tie(b.function, b.name);
  });
  return nodes;
}

std::vector<LoopStatistics> StepStatistics::loops() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<LoopStatistics> loops;
  for (const auto& [key, loop] : state_->loops) {
    LoopStatistics statistics = loop.statistics;
    for (const auto& [instance, progress] : loop.entered) {
      ++statistics.entered;
      statistics.iterations += progress.iterations();
      statistics.most = std::max(statistics.most, progress.iterations());
    }
    loops.push_back(std::move(statistics));
  }
  std::sort(loops.begin(), loops.end(), [](const LoopStatistics& a, const LoopStatistics& b) {
    if (a.iterations != b.iterations) return a.iterations > b.iterations;
    return std::tie(a.function, a.name) < std::tie(b.function, b.name);
  });
  return loops;
}

std::vector<SavedStatistics> StepStatistics::saved() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<SavedStatistics> saved;
  for (const auto& [key, value] : state_->saved) {
    saved.push_back(value);
    saved.back().loop = key.first;
    saved.back().value = key.second;
  }
  std::sort(saved.begin(), saved.end(), [](const SavedStatistics& a, const SavedStatistics& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return std::tie(a.loop, a.value) < std::tie(b.loop, b.value);
  });
  return saved;
}

int64_t StepStatistics::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak_bytes;
}

}  // namespace gyre
