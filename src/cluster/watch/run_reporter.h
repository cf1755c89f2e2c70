// RunReporter: a worker's end of a run that its client watches. It sends word of what fires, and
// of what it made where that is asked for, in pieces, and holds the run back while the client has
// several of them still to take in; it answers where the run is. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster/host.h"
#include "cluster/proto/control.pb.h"
#include "cluster/watch/firings.h"
#include "exec/engine.h"
#include "gyre/core/debug.h"
#include "gyre/core/options.h"

namespace gyre::cluster {

class RunReporter final : private RunObserver {
 public:
  using Send = std::function<void(const proto::FromWorker&)>;
  // Of the step `step`, which `cancellation` ends. Who brings word of the client may keep the
  // reporter for longer than the step.
  RunReporter(Host& host, const proto::Watch& watch, uint64_t step,
              std::shared_ptr<Cancellation> cancellation, Send send);
  ~RunReporter() override;

  // For the engine, while the run goes on.
  RunHooks hooks();
  // The run has ended: tells what is left.
  void End();

  // The client has taken a piece in.
  void OnSeen();
  void OnAsk(uint64_t question);

 private:
  absl::Status OnFired(const Firing& firing) override;
  void OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) override;
  void SendPieceIfLarge(std::unique_lock<std::mutex>& lock);
  void SendPiece();
  void Answer(const RunProgress& progress);

  Host& host_;
  const proto::Watch watch_;
  const uint64_t step_;
  const std::shared_ptr<Cancellation> cancellation_;
  const Send send_;
  std::vector<WatchedOutput> outputs_;
  ObserverList observers_;
  NanTrap trap_;
  ProgressProbe probe_;
  int64_t callback_ = 0;  // of cancellation_

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  FiringsWriter writer_;
  std::deque<size_t> unseen_;  // sizes of the pieces that the client has not taken in
  size_t unseen_bytes_ = 0;    // of all of them
  uint64_t question_ = 0;
};

}  // namespace gyre::cluster
