// Effects whose order a program leaves open, so that its results may differ from run to run
// (docs/semantics.md: nothing but edges orders nodes, and nothing decides between two live inputs
// of a Merge).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "gyre/core/observer.h"
#include "ir/program.h"

namespace gyre::test {

// Whether of the nodes that a run of `roots` (nodes of the main graph, or their outputs) needs, or
// that some function has, two may reach one variable, array, stack or queue, at least one of them
// to change it, with no path of edges from one to the other; or one node in two iterations that may
// be in flight at once. Of the two sides of a Switch but one runs. An output in `fed` leads
// nowhere: what made it need not have run. Says yes where it cannot tell; of a graph whose frames
// are not sound, which no engine runs, no. Stateless; any thread.
bool MayRace(const Program& program, absl::Span<const std::string> roots,
             absl::Span<const std::string> fed);

// Watches runs of the dataflow engine, one after the other, for Merges of the main graph with more
// than one live input. Called from all threads of a run.
class MergeWatch final : public RunObserver {
 public:
  // `main` must outlive it.
  explicit MergeWatch(const Function& main);
  absl::Status OnFired(const Firing& firing) override;
  void OnEnded(const RunTotals& totals) override;
  // In one of the runs that have ended.
  bool has_two_live_inputs() const { return found_; }

 private:
  // Frame, iteration, node.
  using Place = std::tuple<uint64_t, int64_t, NodeId>;
  struct Fired {
    std::vector<bool> live;  // by output
    uint64_t outer_frame;
    int64_t outer_iteration;
  };

  bool HasTwoLiveInputs() const;
  // Of what a node in this iteration of this frame reads.
  bool IsLive(Endpoint e, uint64_t frame, int64_t iteration, const Fired& reader) const;

  const Function& main_;
  std::map<std::string, NodeId> ids_;
  bool found_ = false;
  std::mutex mutex_;
  std::map<Place, Fired> fired_;             // guarded by mutex_ while the run lasts
  std::map<Place, std::vector<bool>> left_;  // Exits, by where they lead to; the same
};

}  // namespace gyre::test
