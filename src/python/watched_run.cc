#include "python/watched_run.h"

#include "base/env.h"
#include "base/signals.h"
#include "eager/context.h"
#include "python/gil.h"
#include "python/host_function.h"

namespace gyre::python {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

nb::dict NodeInfo(const NodeStatistics& node) {
  nb::dict info;
  info["name"] = ToStr(node.name);
  info["function"] = ToStr(node.function);
  info["op"] = ToStr(node.op);
  info["device"] = ToStr(node.device);
  info["is_plumbing"] = node.is_plumbing;
  info["is_call"] = node.is_call;
  info["firings"] = node.firings;
  info["total_nanos"] = node.total_nanos;
  info["max_nanos"] = node.max_nanos;
  info["bytes"] = node.bytes;
  return info;
}

nb::dict LoopInfo(const LoopStatistics& loop) {
  nb::dict info;
  info["name"] = ToStr(loop.name);
  info["function"] = ToStr(loop.function);
  info["entered"] = loop.entered;
  info["iterations"] = loop.iterations;
  info["most"] = loop.most;
  return info;
}

nb::dict SavedInfo(const SavedStatistics& saved) {
  nb::dict info;
  info["loop"] = ToStr(saved.loop);
  info["value"] = ToStr(saved.value);
  info["times"] = saved.times;
  info["bytes"] = saved.bytes;
  return info;
}

template <typename T>
nb::list ListOf(const std::vector<T>& items, nb::dict (*info)(const T&)) {
  nb::list list;
  for (const T& item : items) list.append(info(item));
  return list;
}

}  // namespace

WatchedRun::WatchedRun(Wishes wishes, Cancellation& cancellation)
    : wishes_(std::move(wishes)), cancellation_(cancellation), begin_(SystemClock().NowNanos()) {
  if (NanTrap* const trap = eager::TheNanTrap()) observers_.Add(trap);
  if (wishes_.statistics) observers_.Add(&statistics_.emplace());
  if (!wishes_.timeline.empty()) observers_.Add(&recorder_.emplace());
  if (wishes_.progress.is_valid())
    probe_.emplace([this](const RunProgress& progress) { Tell(progress); });
}

void WatchedRun::AddTo(RunOptions& options) {
  if (!observers_.empty()) options.observer = &observers_;
  if (!probe_) return;
  options.progress = &*probe_;
  const int64_t period = wishes_.progress_ms * kNanosPerMilli;
  ticker_.emplace(period, period, [this] { probe_->Ask(); });
}

// On a thread of the run, without the GIL.
void WatchedRun::Tell(const RunProgress& progress) {
  const CallersSignals signals;
  const GilHeld gil;
  try {
    nb::list loops;
    for (const RunProgress::Loop& loop : progress.loops) {
      nb::dict info;
      info["name"] = ToStr(loop.name);
      info["iteration"] = loop.iteration;
      loops.append(info);
    }
    nb::dict told;
    told["node"] = ToStr(progress.node);
    told["waiting"] = progress.is_waiting;
    told["nanos"] = SystemClock().NowNanos() - begin_;
    told["loops"] = loops;
    wishes_.progress(told);
  } catch (nb::python_error& error) {
    cancellation_.Cancel(KeepException(error.value()));
  }
}

void WatchedRun::Finish() {
  ticker_.reset();
  if (!recorder_ || recorder_->recorded() == 0) return;
  const TraceRecorder* const runs[] = {&*recorder_};
  Check(WriteTrace(wishes_.timeline, runs));
}

nb::dict WatchedRun::statistics() const {
  nb::dict all;
  if (!statistics_) return all;
  all["nodes"] = ListOf(statistics_->nodes(), &NodeInfo);
  all["loops"] = ListOf(statistics_->loops(), &LoopInfo);
  all["saved"] = ListOf(statistics_->saved(), &SavedInfo);
  all["peak_bytes"] = statistics_->peak_bytes();
  return all;
}

}  // namespace gyre::python
