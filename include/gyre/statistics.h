// StepStatistics: what the nodes and loops of a run cost.
//
//   gyre::StepStatistics statistics;
//   session->Run(feeds, fetches, {}, {.observer = &statistics});
//   for (const auto& node : statistics.nodes()) …
//
// May watch several runs, one after the other or at once; figures add up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gyre/observer.h"

namespace gyre {

struct NodeStatistics {
  std::string name;      // as the program has it
  std::string function;  // in whose body; empty: the main graph, or plumbing
  std::string op;
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

// Fired into from many threads at once; read when the run has ended. Its memory grows with the
// nodes of the program and with how often loops are entered.
class StepStatistics final : public RunObserver {
 public:
  StepStatistics();
  ~StepStatistics() override;
  absl::Status OnFired(const Firing& firing) override;
  void OnEnded(const RunTotals& totals) override;

  std::vector<NodeStatistics> nodes() const;  // most time first
  std::vector<LoopStatistics> loops() const;  // most iterations first
  std::vector<SavedStatistics> saved() const;  // most bytes first
  // Most that one run has held at once, of what it made.
  int64_t peak_bytes() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace gyre
