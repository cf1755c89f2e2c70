// TraceRecorder: keeps what a run fires, and writes it down as a timeline that Perfetto
// (ui.perfetto.dev) and chrome://tracing show.
//
//   gyre::TraceRecorder recorder("step 1");
//   session->Run(feeds, fetches, {}, {.observer = &recorder});
//   gyre::WriteTrace("step1.json", {&recorder});
//
// A recorder is for one run. It holds about 64 bytes per firing, up to a limit; what comes later is
// counted, not kept. `gyre trace FILE` sums a written timeline up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gyre/observer.h"

namespace gyre {

namespace trace {
class Log;
}

struct TraceOptions {
  int64_t max_firings = 1'000'000;
};

// Fired into from many threads at once; read (recorded, WriteTrace) when the run has ended.
class TraceRecorder final : public RunObserver {
 public:
  // `run` is what the timeline calls the run.
  explicit TraceRecorder(std::string run = "run", const TraceOptions& options = {});
  ~TraceRecorder() override;

  absl::Status OnFired(const Firing& firing) override;
  void OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) override;
  RemoteWatch remote() const override { return {.firings = true, .values = false}; }

  int64_t recorded() const;
  int64_t left_out() const;  // fired after the limit was reached
  const trace::Log& log() const { return *log_; }

 private:
  const std::unique_ptr<trace::Log> log_;
};

// One file with the timelines of some runs, on one time axis. For each run: a process for each
// device, a track per thread, on which every firing is a slice, and tracks of loops, in which
// frames, iterations, branches and calls are slices inside each other; iterations that overlap
// stand on tracks beside each other. An existing file is replaced once the new one is complete.
absl::Status WriteTrace(const std::string& path, absl::Span<const TraceRecorder* const> runs);

}  // namespace gyre
