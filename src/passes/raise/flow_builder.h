// FlowBuilder: how a Flow comes about. Used by the files flow_*.cc of this folder alone, one step
// each: frames, order and contexts (flow_builder.cc), values and units (flow_values.cc), loops
// (flow_loops.cc), what waits for what and what is needed (flow_needs.cc).
#pragma once

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "ir/data_order.h"
#include "passes/raise/flow.h"

namespace gyre::raise {

class FlowBuilder {
 public:
  FlowBuilder(const Function& function, const RunSignature& signature)
      : function_(function),
        signature_(signature),
        fed_(signature.feeds.begin(), signature.feeds.end()) {
    flow_.function_ = &function;
  }

  absl::StatusOr<Flow> Build();

 private:
  bool IsFed(Endpoint e) const { return fed_.contains(e); }
  bool IsNeeded(NodeId id) const { return needed_[id]; }
  bool IsLoop(int frame) const { return frame > 0 && is_loop_[frame]; }
  // Of an Enter: its value is there in every iteration.
  static bool IsConstant(const Node& node) { return node.attrs.GetOr<bool>("is_constant", false); }
  ContextId Alive(Endpoint e) const { return IsFed(e) ? kAlways : flow_.ContextOf(e); }
  Endpoint ValueOf(Endpoint e) const { return IsFed(e) ? e : flow_.Value(e); }
  struct JoinOptions {
    bool is_truth = false;     // leaves are true; where there is none, it is false
    bool is_complete = false;  // one of them is always alive
  };

  // flow_builder.cc: frames, order, contexts.
  static absl::Status Refuse(const Node& node, absl::string_view why);
  absl::Status CheckOutputs() const;
  int Effective(int frame) const;
  void FindLoops();
  Endpoint Root(Endpoint e) const;
  void FindLoopConditions();
  absl::StatusOr<std::vector<NodeId>> Order() const;
  absl::Status Visit(const Node& node);
  absl::StatusOr<ContextId> ContextOfNode(const Node& node);
  ContextId AnyOf(const Node& node, std::vector<ContextId> contexts);
  std::vector<ContextId> Expanded(const std::vector<ContextId>& contexts);

  // flow_values.cc: what hands on, units, joins.
  absl::Status HandOn(const Node& node, int slot);
  SymbolId SymbolOf(const Node& node);
  absl::Status VisitSwitch(const Node& node);
  NodeId AddUnit(const Node& node, Unit unit);
  void Mark(Endpoint e, Unit& unit) const;
  void MarkAll(const Node& node, Unit& unit) const;
  absl::Status VisitPlain(const Node& node);
  absl::Status VisitMerge(const Node& node);
  Leaf Join(const Node& node, ContextId around,
            const std::vector<std::pair<ContextId, Leaf>>& values, JoinOptions options);

  // flow_loops.cc: loops from Enter to Exit.
  std::optional<int> KnownOutside(int frame, SymbolId symbol) const;
  bool IsLoopMerge(const Node& node) const;
  absl::Status VisitVariable(const Node& node);
  absl::Status VisitEnter(const Node& node);
  int LoopUnit(const Node& enter, int frame);
  absl::Status VisitExit(const Node& node);
  absl::Status VisitNextIteration(const Node& node);
  absl::Status FinishLoops();
  absl::Status FinishLoop(int f);
  absl::Status CheckEntry(int f);

  // flow_needs.cc: what waits for what by control edges; what is needed.
  const std::vector<int>& WaitsForNode(NodeId id);
  std::vector<int> WaitsFor(const std::vector<NodeId>& controls);
  bool HasEffects(int unit) const;
  absl::Status MarkLive();
  void ReadPredicates();
  void Need(Endpoint value);
  void NeedUnit(int first);
  absl::Status MarkFromOutside(Endpoint value);

  const Function& function_;
  const RunSignature& signature_;
  const HashSet<Endpoint> fed_;
  Flow flow_;
  std::vector<bool> needed_;
  std::vector<bool> is_loop_;  // by frame
  std::vector<bool> touches_;  // by frame: something in it has effects or reads the world
  HashSet<Endpoint> loop_roots_;
  HashMap<std::pair<Endpoint, int>, SymbolId> symbols_;  // by root and outcomes
  std::vector<int> symbol_frames_;                       // by symbol: where its predicate is made
  HashMap<NodeId, ContextId> enter_contexts_;
  HashMap<int, ContextId> entries_;  // by frame: where it is entered
  HashMap<std::pair<int, Endpoint>, Endpoint> constants_;
  HashMap<NodeId, size_t> variable_of_;  // by Merge
  HashMap<NodeId, Choice> exit_choices_;
  HashMap<SymbolId, std::vector<ContextId>> any_of_;  // choices made up: when they hold
  HashMap<NodeId, Endpoint> next_;                    // NextIteration → the value that goes on
  std::vector<bool> has_effects_;
  std::vector<std::vector<int>> waits_for_;
  std::vector<bool> waits_known_;
  HashSet<Endpoint> seen_;  // values from outside that are needed
  std::vector<Endpoint> to_mark_;
};

}  // namespace gyre::raise
