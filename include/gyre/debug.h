// Observers that look into runs: what nodes and loops cost, a trap for NaN and Inf, and what a node
// made in every iteration.
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
// Several observers watch one run through an ObserverList (gyre/observer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/observer.h"

namespace gyre {

// Fails the run (INVALID_ARGUMENT) at the first node that makes a NaN or an infinity: the message
// says how many, the run adds the node, loop and iteration. Real and complex types of any width
// are looked at. Nodes that merely hand values on (Identity, Switch, Merge, …) and constants, which
// hold what their author wrote, are passed over. Stateless; any thread.
class NanTrap final : public RunObserver {
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
class IterationValues final : public RunObserver {
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
class StepStatistics final : public RunObserver {
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

}  // namespace gyre
