#include "cluster/watch/watched_run.h"

#include <algorithm>
#include <utility>

#include "cluster/watch/firings.h"

namespace gyre::cluster {
namespace {

// Recursion has more loops around it than anybody reads.
constexpr int kMostLoops = 128;
// Of an output that may be watched.
constexpr int kMostSlot = 1 << 16;

RemoteWatch WatchOf(const RunHooks& hooks) {
  if (hooks.observer != nullptr) return hooks.observer->remote();
  return {.firings = false, .values = false};
}

// How many outputs of a node may come along.
int NumOutputs(const RemoteWatch& watch) {
  int num_outputs = 0;
  for (const WatchedOutput& output : watch.outputs)
    num_outputs = std::max(num_outputs, std::min(output.slot, kMostSlot) + 1);
  return num_outputs;
}

}  // namespace

WatchedRun::WatchedRun(const RunHooks& hooks, int num_workers, int64_t now_nanos)
    : hooks_(hooks),
      watch_(WatchOf(hooks)),
      num_outputs_(NumOutputs(watch_)),
      begin_nanos_(now_nanos),
      workers_(num_workers) {}

absl::Status WatchedRun::Check() const {
  if (!watch_.values) return absl::OkStatus();
  return absl::UnimplementedError(
      "all values of a run on a cluster cannot be watched: they stay with its workers; those of "
      "outputs that are named can, and so can timelines, statistics, progress and the NaN trap "
      "(RunObserver::remote)");
}

proto::Watch WatchedRun::Wishes() const {
  proto::Watch watch;
  watch.set_firings(watch_.firings);
  watch.set_progress(hooks_.progress != nullptr);
  watch.set_trap_nan(watch_.trap_nan);
  for (const WatchedOutput& output : watch_.outputs) {
    if (output.slot < 0 || output.slot > kMostSlot) continue;  // no node has so many
    proto::Watch::Output& wish = *watch.add_outputs();
    wish.set_node(output.node);
    wish.set_slot(output.slot);
  }
  return watch;
}

absl::Status WatchedRun::OnFired(int w, const proto::Fired& fired, int64_t offset_nanos,
                                 int64_t now_nanos) {
  if (!watch_.firings && num_outputs_ == 0) return absl::OkStatus();
  Worker& worker = workers_[w];
  if (worker.graphs.empty()) worker.graphs.resize(kMostGraphs);
  FiringsOf of{.offset_nanos = offset_nanos,
               .first_nanos = begin_nanos_,
               .last_nanos = now_nanos,
               .first_thread = w * kMostThreads,
               .graphs = worker.graphs.data(),
               .num_outputs = num_outputs_};
  if (!worker.offset_nanos) worker.offset_nanos = FittingOffset(fired.firings(), of);
  of.offset_nanos = *worker.offset_nanos;
  return ReadFirings(fired.firings(), of, *hooks_.observer);
}

uint64_t WatchedRun::Question(const std::vector<bool>& has_ended) {
  if (hooks_.progress == nullptr || !hooks_.progress->IsAsked()) return 0;
  const RunProgress* deepest = nullptr;
  RunProgress answer;
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      is_open_ = true;
      for (Worker& worker : workers_) worker.waits.reset();
      return ++question_;
    }
    for (size_t w = 0; w < workers_.size(); ++w) {
      const std::optional<RunProgress>& waits = workers_[w].waits;
      if (!waits && !has_ended[w]) return 0;
      if (waits && (deepest == nullptr || waits->loops.size() > deepest->loops.size()))
        deepest = &*waits;
    }
    if (deepest == nullptr) return 0;
    answer = *deepest;
    is_open_ = false;
  }
  hooks_.progress->Answer(answer);
  return 0;
}

void WatchedRun::OnProgress(int w, const proto::Progress& told) {
  if (hooks_.progress == nullptr) return;
  RunProgress progress{.node = told.node(), .is_waiting = told.is_waiting()};
  for (const proto::Progress::Loop& loop : told.loops()) {
    if (progress.loops.size() == kMostLoops) break;
    progress.loops.push_back({loop.name(), loop.iteration(), loop.instance()});
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_ || told.question() != question_) return;
    if (progress.is_waiting) {
      workers_[w].waits = std::move(progress);
      return;
    }
    is_open_ = false;
  }
  hooks_.progress->Answer(progress);
}

}  // namespace gyre::cluster
