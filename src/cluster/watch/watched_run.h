// WatchedRun: the client's end of a run that is watched. What workers tell of it goes to the hooks,
// in the client's time. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "cluster/proto/control.pb.h"
#include "exec/engine.h"

namespace gyre::cluster {

class WatchedRun {
 public:
  // Of a run that begins now; `hooks` must outlive this.
  WatchedRun(const RunHooks& hooks, int num_workers, int64_t now_nanos);

  // UNIMPLEMENTED where somebody wants what stays with the workers.
  absl::Status Check() const;
  // What is asked of them.
  proto::Watch Wishes() const;

  // Worker `w` tells of firings, and its clock is ahead by about so much. The errors of
  // ReadFirings.
  absl::Status OnFired(int w, const proto::Fired& fired, int64_t offset_nanos, int64_t now_nanos);

  // Whether somebody may ask where the run is.
  bool asks() const { return hooks_.progress != nullptr; }
  // The number of a question that is to be put to all workers; 0: none. To be called every
  // kAskNanos; `has_ended`: which of them have no part of the run any more.
  static constexpr int64_t kAskNanos = 20'000'000;
  uint64_t Question(const std::vector<bool>& has_ended);
  // Worker `w` has answered: at once if it is at work; where all wait, as the one that is deepest
  // within loops.
  void OnProgress(int w, const proto::Progress& progress);

 private:
  struct Worker {
    std::vector<char> graphs;             // see FiringsOf
    std::optional<int64_t> offset_nanos;  // the same for all of a run's firings
    std::optional<RunProgress> waits;     // its answer to the last question
  };

  const RunHooks& hooks_;
  const RemoteWatch watch_;
  const int num_outputs_;
  const int64_t begin_nanos_;
  std::mutex mutex_;             // guards what follows
  std::vector<Worker> workers_;  // `graphs` and `offset_nanos`: by the worker's own calls alone
  uint64_t question_ = 0;
  bool is_open_ = false;  // question_ has no answer yet
};

}  // namespace gyre::cluster
