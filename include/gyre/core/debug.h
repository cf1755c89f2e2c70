// Observers that look into runs: what nodes and loops cost, a trap for NaN and Inf, what a node
// made in every iteration, and a timeline.
//
//   gyre::StepStatistics statistics;
//   session->Run(feeds, fetches, {}, {.observer = &statistics});
//   for (const auto& node : statistics.nodes()) …
//
//   gyre::NanTrap trap;
//   session->Run(feeds, fetches, {}, {.observer = &trap});   // fails where the first NaN arises
//
//   gyre::IterationValues values({{"while/mul"}});
//   session->Run(feeds, fetches, {}, {.observer = &values});
//   values.Get(0)[i].value;   // of "while/mul" in iteration i
//
//   gyre::TraceRecorder recorder("step 1");
//   session->Run(feeds, fetches, {}, {.observer = &recorder});
//   gyre::WriteTrace("step1.json", {&recorder});
//
// Several observers watch one run through an ObserverList (gyre/core/observer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "gyre/core/observer.h"

namespace gyre {

// Fails the run (INVALID_ARGUMENT) at the first node that makes a NaN or an infinity: the message
// says how many, the run adds the node, loop and iteration. Real and complex types of any width
// are looked at. Nodes that merely hand values on (Identity, Switch, Merge, …) and constants, which
// hold what their author wrote, are passed over. Stateless; any thread.
class GYRE_EXPORT NanTrap final : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override;
  RemoteWatch remote() const override {
    return {.firings = false, .values = false, .trap_nan = true};
  }
};

struct IterationValue {
  std::vector<int64_t> iterations;  // of the loops around it, outermost first
  std::vector<std::string> loops;   // their names, alongside
  Tensor value;
};

// Keeps what outputs are, firing by firing. Fired into from many threads at once; read when the run
// has ended. Use one for one run.
class GYRE_EXPORT IterationValues final : public RunObserver {
 public:
  static constexpr int64_t kDefaultMaxBytes = int64_t{256} << 20;

  // Keeps values up to `max_bytes` in all; further ones are counted, not kept. (Those of ordinary
  // kernels stay charged to the run's memory budget.)
  explicit IterationValues(std::vector<WatchedOutput> outputs,
                           int64_t max_bytes = kDefaultMaxBytes);
  ~IterationValues() override;
  absl::Status OnFired(const Firing& firing) override;
  RemoteWatch remote() const override;

  // Of the output number `i` of those watched: values in the order of iterations; those of one and
  // the same iteration (calls in it) in the order in which they came.
  std::vector<IterationValue> Get(size_t i) const;
  // The same as one tensor with a row per iteration. nullopt unless there is exactly one loop
  // around them, entered once, with a value from each of its iterations, all of one dtype and
  // shape.
  std::optional<Tensor> Stacked(size_t i) const;
  int64_t left_out(size_t i) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

struct NodeStatistics {
  std::string name;      // as the program has it
  std::string function;  // in whose body; empty: the main graph, or plumbing
  std::string op;
  std::string device;        // that it ran on first; empty where there is but one
  bool is_plumbing = false;  // made by lowering
  bool is_call = false;      // its time holds that of the nodes in there
  int64_t firings = 0;
  int64_t total_nanos = 0;
  int64_t max_nanos = 0;
  int64_t bytes = 0;  // of all that it made; what it merely hands on counts, too
};

struct LoopStatistics {
  std::string name;  // of the frame, or of the While or For
  std::string function;
  int64_t entered = 0;     // how often the loop was begun
  int64_t iterations = 0;  // of the body, in all
  int64_t most = 0;        // iterations in one go
};

// What a loop saves of one value for its gradient.
struct SavedStatistics {
  std::string loop;   // FUNCTION/NAME, or NAME in the main graph
  std::string value;  // in the loop's body
  int64_t times = 0;
  int64_t bytes = 0;  // of all that was saved, whether or not it was there at once
};

// What runs cost: one, or several, one after the other or at once; figures add up then. Fired into
// from many threads at once; read when the run has ended. Its memory grows with the
// nodes of the program and with how often loops are entered.
class GYRE_EXPORT StepStatistics final : public RunObserver {
 public:
  StepStatistics();
  ~StepStatistics() override;
  absl::Status OnFired(const Firing& firing) override;
  void OnEnded(const RunTotals& totals) override;
  RemoteWatch remote() const override { return {.firings = true, .values = false}; }

  std::vector<NodeStatistics> nodes() const;   // most time first
  std::vector<LoopStatistics> loops() const;   // most iterations first
  std::vector<SavedStatistics> saved() const;  // most bytes first
  // Most that one run has held at once, of what it made.
  int64_t peak_bytes() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

namespace trace {
class Log;
}

struct TraceOptions {
  int64_t max_firings = 1'000'000;
};

// Keeps what a run fires, to be written down as a timeline that Perfetto (ui.perfetto.dev) and
// chrome://tracing show. For one run. Holds about 64 bytes per firing, up to a limit; what comes
// later is counted, not kept. `gyre trace FILE` sums a written timeline up.
//
// Fired into from many threads at once; read (recorded, WriteTrace) when the run has ended.
class GYRE_EXPORT TraceRecorder final : public RunObserver {
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
GYRE_EXPORT absl::Status WriteTrace(const std::string& path,
                                    absl::Span<const TraceRecorder* const> runs);

}  // namespace gyre
