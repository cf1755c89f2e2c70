// Flow: a function of primitives, understood: where each of its nodes runs, what it waits for, and
// which of its values are the same.
//
// Primitives that only hand values on (Switch, Enter, LoopCond …) disappear: every value has one
// name, the endpoint that makes it. What is left are units: nodes, joins (Merges) and whole loops,
// each in a context (contexts.h) of its frame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "ir/frames.h"
#include "ir/program.h"
#include "passes/raise/contexts.h"

namespace gyre::raise {

// What one side of a join takes.
struct Leaf {
  enum class Kind { kNone, kValue, kIndex, kTrue, kFalse };
  Kind kind = Kind::kNone;  // kNone: the side brings nothing, and nobody reads the join then
  Endpoint value;
  int32_t index = 0;  // of the live input of a Merge
};

struct Unit {
  enum class Kind { kNode, kForward, kJoin, kLoop };
  Kind kind = Kind::kNode;
  NodeId node = -1;  // of a join: the Merge; of a forward: what hands `reads[0]` on, but waits
  int frame = 0;     // a loop runs in the frame around it
  ContextId context = kAlways;
  std::vector<Endpoint> reads;
  std::vector<int> after;  // units it waits for beside what it reads
  bool is_stateful = false;
  bool touches_world =
      false;              // it reads, changes or tells it: what waits for it does so on purpose
  bool must_run = false;  // it changes or tells it
  bool is_live = false;
  // Switches through which it comes by what it reads: units that share one belong together.
  std::vector<std::pair<SymbolId, int64_t>> marks;
  // Of a join.
  SymbolId symbol = -1;
  std::vector<Leaf> sides;
  bool is_truth = false;  // says whether it is alive: false on sides that bring nothing
  // Of a loop: its frame.
  int loop = -1;
};

struct LoopVariable {
  NodeId merge = -1;
  Endpoint init;  // in the frame around
  Endpoint next;
  bool is_live = false;
};

// Of a frame that is a loop.
struct RaisedLoop {
  SymbolId symbol = -1;  // what its iterations go on by
  int goes_on = 1;       // the outcome with which they do
  Endpoint predicate;
  std::vector<LoopVariable> variables;
  HashMap<NodeId, Endpoint> exits;         // Exit → what it lets out
  HashMap<Endpoint, Endpoint> invariants;  // in the frame → in the frame around
  std::vector<NodeId> live_exits;
  int unit = -1;
};

class Flow {
 public:
  // UNIMPLEMENTED, naming a node and the reason, for what has no structured form. `function` must
  // outlive the Flow.
  static absl::StatusOr<Flow> Make(const Function& function, const RunSignature& signature);

  const Function& function() const { return *function_; }
  Contexts& contexts() { return contexts_; }
  const std::vector<Unit>& units() const { return units_; }
  const Unit& unit(int id) const { return units_[id]; }
  const Frame& frame(int f) const { return frames_.frames[f]; }
  const RaisedLoop& loop(int f) const { return loops_[f]; }
  bool is_loop(int f) const { return f > 0 && loops_[f].unit >= 0; }
  const std::vector<int>& units_of_frame(int f) const { return units_of_frame_[f]; }

  // What a value is called.
  Endpoint Value(Endpoint e) const;
  // A value that is fed: the node whose output it replaces may run, for a target, but does not make
  // it.
  bool IsFed(Endpoint value) const { return fed_.contains(value); }
  // The unit that makes a value; -1: it comes from outside (a feed, a loop variable, an invariant).
  int Maker(Endpoint value) const;
  NodeSignature::Slot TypeOf(Endpoint value) const;
  std::string NameOf(Endpoint value) const;
  // The value that decides a choice.
  Endpoint Predicate(SymbolId symbol) const { return predicates_[symbol]; }
  // The unit that stands for a node; -1: none does (it only hands on), or it never runs.
  int UnitOf(NodeId node) const { return unit_of_node_[node]; }
  // A boolean that says whether a fetch is alive in this run; none: it always is.
  std::optional<Endpoint> AliveFlag(Endpoint fetch) const;
  // The context that a tensor is alive in; that of the frame around for what an Exit lets out.
  ContextId ContextOf(Endpoint e) const;
  int FrameOf(NodeId node) const { return frame_of_[node]; }

 private:
  friend class FlowBuilder;
  const Function* function_ = nullptr;
  HashSet<Endpoint> fed_;
  Contexts contexts_;
  FrameTable frames_;
  std::vector<RaisedLoop> loops_;  // by frame
  std::vector<Unit> units_;
  std::vector<std::vector<int>> units_of_frame_;
  std::vector<int> unit_of_node_;
  std::vector<int>
      frame_of_;  // by node: where its outputs live, frames that are no loops dissolved
  std::vector<ContextId> context_of_;
  std::vector<std::vector<ContextId>> sides_;  // of a Switch, by slot; of others empty
  std::vector<std::vector<Endpoint>> values_;  // by node and slot; empty: each is its own
  std::vector<Endpoint> predicates_;           // by symbol
  HashMap<Endpoint, Endpoint> alive_flags_;
};

}  // namespace gyre::raise
