// Loops: where they are entered, their variables, what they go on by and let out.
#include <algorithm>

#include "base/hash_map.h"
#include "passes/raise/flow_builder.h"

namespace gyre::raise {

// How a choice went that was made before the loop was entered.
std::optional<int> FlowBuilder::KnownOutside(int frame, SymbolId symbol) const {
  for (; frame > 0; frame = Effective(flow_.frames_.frames[frame].parent)) {
    const auto entry = entries_.find(frame);
    if (entry == entries_.end()) continue;
    if (const auto known = flow_.contexts_.ValueOf(entry->second, symbol)) return known;
  }
  return std::nullopt;
}

bool FlowBuilder::IsLoopMerge(const Node& node) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) {
    return !IsFed(e) && function_.node(e.node).kind() == OpKind::kNextIteration;
  });
}

absl::Status FlowBuilder::VisitVariable(const Node& node) {
  LoopVariable variable{.merge = node.id};
  for (const Endpoint& e : node.inputs) {
    if (IsFed(e)) return Refuse(node, "is a loop's variable that is fed");
    const Node& source = function_.node(e.node);
    const bool is_entry = source.kind() == OpKind::kEnter;
    if ((!is_entry && source.kind() != OpKind::kNextIteration) || node.inputs.size() != 2)
      return Refuse(node, "is a loop's variable that joins more than an Enter and a NextIteration");
    if (is_entry) variable.init = ValueOf(source.inputs[0]);
  }
  if (variable.init.node < 0) return Refuse(node, "is a loop's variable without an Enter");
  std::vector<LoopVariable>& variables = flow_.loops_[flow_.frame_of_[node.id]].variables;
  variable_of_.emplace(node.id, variables.size());
  variables.push_back(variable);
  return absl::OkStatus();
}

absl::Status FlowBuilder::VisitEnter(const Node& node) {
  const int frame = flow_.frames_.output_frame_of_node[node.id];
  if (!IsLoop(frame)) return HandOn(node, 0);
  Unit& unit = flow_.units_[LoopUnit(node, frame)];
  MarkAll(node, unit);
  const std::vector<int> after = WaitsFor(node.control_inputs);
  unit.after.insert(unit.after.end(), after.begin(), after.end());
  if (const int maker = flow_.Maker(ValueOf(node.inputs[0])); HasEffects(maker))
    flow_.units_[LoopUnit(node, frame)].after.push_back(maker);
  // It runs in the frame around. The loop is entered where all Enters are alive.
  const auto [entry, is_first] = entries_.try_emplace(frame, flow_.context_of_[node.id]);
  entry->second = flow_.contexts_.And(entry->second, flow_.context_of_[node.id]);
  enter_contexts_.emplace(node.id, flow_.context_of_[node.id]);
  flow_.context_of_[node.id] = kAlways;
  if (!IsConstant(node)) return absl::OkStatus();
  const Endpoint outer = ValueOf(node.inputs[0]);
  const auto [same, is_new] = constants_.try_emplace({frame, outer}, Endpoint{node.id, 0});
  flow_.values_[node.id] = {same->second};
  if (is_new) flow_.loops_[frame].invariants.emplace(same->second, outer);
  return absl::OkStatus();
}

// The unit of a loop, made when its first Enter is seen.
int FlowBuilder::LoopUnit(const Node& enter, int frame) {
  RaisedLoop& loop = flow_.loops_[frame];
  if (loop.unit >= 0) return loop.unit;
  Unit unit;
  unit.kind = Unit::Kind::kLoop;
  unit.loop = frame;
  unit.is_stateful = unit.touches_world = touches_[frame];
  loop.unit = AddUnit(enter, std::move(unit)) - static_cast<int>(function_.nodes.size());
  flow_.units_.back().frame = Effective(flow_.frames_.frames[frame].parent);
  for (const NodeId exit : flow_.frames_.frames[frame].exits) flow_.unit_of_node_[exit] = loop.unit;
  return loop.unit;
}

absl::Status FlowBuilder::VisitExit(const Node& node) {
  const int frame = flow_.frames_.frame_of_node[node.id];
  if (!IsLoop(frame)) return HandOn(node, 0);
  const ContextId within = flow_.context_of_[node.id];
  const std::vector<Choice> choices = flow_.contexts_.Choices(within);
  if (choices.size() != 1)
    return Refuse(node, "leaves its loop by more than the loop's own condition");
  exit_choices_.emplace(node.id, choices[0]);
  const auto entry = entries_.find(frame);
  flow_.context_of_[node.id] = entry == entries_.end() ? kAlways : entry->second;
  flow_.loops_[frame].exits.emplace(node.id, flow_.Value(node.inputs[0]));
  return absl::OkStatus();
}

absl::Status FlowBuilder::VisitNextIteration(const Node& node) {
  const int frame = flow_.frames_.frame_of_node[node.id];
  const std::vector<Choice> choices = flow_.contexts_.Choices(flow_.context_of_[node.id]);
  if (choices.size() != 1) return Refuse(node, "goes on by more than the loop's own condition");
  RaisedLoop& loop = flow_.loops_[frame];
  if (loop.symbol >= 0 && Choice{loop.symbol, loop.goes_on} != choices[0])
    return Refuse(node, "goes on by another condition than the rest of its loop");
  loop.symbol = choices[0].symbol;
  loop.goes_on = choices[0].value;
  loop.predicate = flow_.Predicate(loop.symbol);
  next_.emplace(node.id, IsFed(node.inputs[0]) ? node.inputs[0] : flow_.Value(node.inputs[0]));
  return absl::OkStatus();
}

absl::Status FlowBuilder::FinishLoops() {
  for (size_t f = 1; f < flow_.loops_.size(); ++f) {
    if (!IsLoop(static_cast<int>(f))) continue;
    if (flow_.loops_[f].unit < 0) {
      const auto inside =
          std::find_if(flow_.units_.begin(), flow_.units_.end(), [&](const Unit& unit) {
            return unit.frame == static_cast<int>(f) && unit.context != kNever;
          });
      if (inside == flow_.units_.end()) continue;
      return Refuse(function_.node(inside->node), "runs in a loop that nothing enters");
    }
    GYRE_RETURN_IF_ERROR(FinishLoop(static_cast<int>(f)));
  }
  return absl::OkStatus();
}

absl::Status FlowBuilder::FinishLoop(int f) {
  RaisedLoop& loop = flow_.loops_[f];
  if (loop.symbol < 0) {
    return Refuse(function_.node(flow_.units_[loop.unit].node),
                  "belongs to a loop that no condition ends");
  }
  for (LoopVariable& variable : loop.variables) {
    for (const Endpoint& e : function_.node(variable.merge).inputs) {
      if (next_.contains(e.node)) variable.next = next_.at(e.node);
    }
    if (variable.next.node < 0)
      return Refuse(function_.node(variable.merge), "is a loop's variable that never goes on");
  }
  for (const auto& [exit, value] : loop.exits) {
    const Choice by = exit_choices_.at(exit);
    if (by.symbol != loop.symbol || by.value == loop.goes_on)
      return Refuse(function_.node(exit), "leaves its loop by another condition than the loop's");
  }
  GYRE_RETURN_IF_ERROR(CheckEntry(f));
  Unit& unit = flow_.units_[loop.unit];
  unit.context = entries_.at(f);
  std::sort(unit.after.begin(), unit.after.end());
  unit.after.erase(std::unique(unit.after.begin(), unit.after.end()), unit.after.end());
  return absl::OkStatus();
}

// Where the loop's condition comes alive, all that enters the loop must be alive, too. (What is
// alive elsewhere as well, such as a counter, comes to nothing there.)
absl::Status FlowBuilder::CheckEntry(int f) {
  const RaisedLoop& loop = flow_.loops_[f];
  HashSet<Endpoint> seen;
  std::vector<Endpoint> work = {loop.predicate};
  ContextId decided = kAlways;
  const auto read_entry = [&](NodeId enter) {
    const auto context = enter_contexts_.find(enter);
    if (context != enter_contexts_.end()) decided = flow_.contexts_.And(decided, context->second);
  };
  while (!work.empty()) {
    const Endpoint value = work.back();
    work.pop_back();
    if (!seen.insert(value).second) continue;
    if (const int maker = flow_.Maker(value); maker >= 0) {
      const Unit& unit = flow_.units_[maker];
      if (unit.frame == f) work.insert(work.end(), unit.reads.begin(), unit.reads.end());
      if (unit.frame == f && unit.kind == Unit::Kind::kNode && unit.reads.empty()) {
        for (const NodeId control : function_.node(unit.node).control_inputs) {
          if (function_.node(control).num_outputs() > 0) work.push_back(ValueOf({control, 0}));
        }
      }
      continue;
    }
    const Node& node = function_.node(value.node);
    if (node.kind() == OpKind::kEnter) read_entry(node.id);
    for (const Endpoint& e : node.inputs) {
      const bool enters = node.kind() == OpKind::kMerge && !IsFed(e);
      if (enters) read_entry(e.node);
    }
  }
  if (flow_.contexts_.Implies(decided, entries_.at(f))) return absl::OkStatus();
  for (const auto& [enter, context] : enter_contexts_) {
    if (flow_.frames_.output_frame_of_node[enter] != f) continue;
    if (!flow_.contexts_.Implies(decided, context))
      return Refuse(function_.node(enter),
                    "is alive on fewer paths than the condition of the loop that it enters");
  }
  return absl::OkStatus();
}

}  // namespace gyre::raise
