// What control edges wait for, and which units are needed: for what is asked for, or for their
// effects.
#include <algorithm>

#include "passes/raise/flow_builder.h"

namespace gyre::raise {
namespace {

constexpr char kNeverRuns[] = "is asked for, but never runs";

}  // namespace

// The units that a control edge from `node` waits for. What only hands on stands for what it
// hands on, if that has effects to wait for.
const std::vector<int>& FlowBuilder::WaitsForNode(NodeId id) {
  if (waits_known_[id] || flow_.context_of_[id] == kNever) return waits_for_[id];
  waits_known_[id] = true;  // at once: the back edges of loops end here
  const Node& node = function_.node(id);
  std::vector<int> units;
  const int own = flow_.unit_of_node_[id];
  bool passes_on = true;
  switch (node.kind()) {
    case OpKind::kSwitch:
    case OpKind::kSwitchN:
    case OpKind::kLoopCond:
    case OpKind::kControlTrigger:
    case OpKind::kNextIteration:
      break;
    case OpKind::kEnter:
      passes_on = !IsLoop(flow_.frames_.output_frame_of_node[id]);
      break;
    case OpKind::kExit:
      passes_on = own < 0;
      break;
    case OpKind::kMerge:
      passes_on = !IsLoopMerge(node) && own < 0;
      break;
    default:
      passes_on =
          node.kind() == OpKind::kConst || (node.kind() == OpKind::kIdentity && !HasEffects(own));
      break;
  }
  if (!passes_on) {
    if (own >= 0) units.push_back(own);
  } else {
    for (const Endpoint& e : node.inputs) {
      const int maker = IsFed(e) ? -1 : flow_.Maker(flow_.Value(e));
      if (maker >= 0 && HasEffects(maker)) units.push_back(maker);
    }
    const std::vector<int> more = WaitsFor(node.control_inputs);
    units.insert(units.end(), more.begin(), more.end());
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return waits_for_[id] = std::move(units);
}

std::vector<int> FlowBuilder::WaitsFor(const std::vector<NodeId>& controls) {
  std::vector<int> units;
  for (const NodeId control : controls) {
    const std::vector<int>& more = WaitsForNode(control);
    units.insert(units.end(), more.begin(), more.end());
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

// The unit, or something that its value depends on, touches the world.
bool FlowBuilder::HasEffects(int unit) const {
  return unit >= 0 && unit < static_cast<int>(has_effects_.size()) && has_effects_[unit];
}

absl::Status FlowBuilder::MarkLive() {
  for (const Endpoint& fetch : signature_.fetches) {
    Need(ValueOf(fetch));
    const ContextId context = Alive(fetch);
    if (context <= kAlways || flow_.frame_of_[fetch.node] != 0) continue;
    const Leaf flag = Join(function_.node(fetch.node), kAlways,
                           {{context, {Leaf::Kind::kTrue, {}, 0}}}, {.is_truth = true});
    flow_.alive_flags_.emplace(fetch, flag.value);
    Need(flag.value);
  }
  for (const NodeId target : signature_.targets) {
    if (flow_.unit_of_node_[target] >= 0) NeedUnit(flow_.unit_of_node_[target]);
    for (const int unit : WaitsForNode(target)) NeedUnit(unit);
  }
  for (size_t i = 0; i < flow_.units_.size(); ++i) {
    if (flow_.units_[i].must_run) NeedUnit(static_cast<int>(i));
  }
  while (!to_mark_.empty()) {
    const Endpoint value = to_mark_.back();
    to_mark_.pop_back();
    GYRE_RETURN_IF_ERROR(MarkFromOutside(value));
  }
  for (const Unit& unit : flow_.units_) {
    const bool counts = unit.is_live && unit.must_run;
    for (int f = unit.frame; counts && f > 0; f = Effective(flow_.frames_.frames[f].parent))
      flow_.units_[flow_.loops_[f].unit].must_run = true;
  }
  ReadPredicates();
  for (size_t f = 1; f < flow_.loops_.size(); ++f) {
    const RaisedLoop& loop = flow_.loops_[f];
    if (loop.unit < 0) continue;
    std::vector<Endpoint>& reads = flow_.units_[loop.unit].reads;
    for (const LoopVariable& variable : loop.variables) {
      if (variable.is_live) reads.push_back(variable.init);
    }
    for (const auto& [inner, outer] : loop.invariants) {
      if (seen_.contains(inner)) reads.push_back(outer);
    }
  }
  return absl::OkStatus();
}

// A loop reads the predicates from outside that choices in it go by.
void FlowBuilder::ReadPredicates() {
  const auto read = [&](int frame, SymbolId symbol) {
    for (; frame > 0 && frame != symbol_frames_[symbol];
         frame = Effective(flow_.frames_.frames[frame].parent)) {
      flow_.units_[flow_.loops_[frame].unit].reads.push_back(flow_.Predicate(symbol));
    }
  };
  for (size_t i = 0; i < flow_.units_.size(); ++i) {
    const Unit& unit = flow_.units_[i];
    if (!unit.is_live || unit.frame == 0) continue;
    const int frame = unit.frame;
    const SymbolId symbol = unit.symbol;
    for (const Choice& choice : flow_.contexts_.Choices(unit.context)) read(frame, choice.symbol);
    if (symbol >= 0) read(frame, symbol);
  }
}

void FlowBuilder::Need(Endpoint value) {
  const int maker = flow_.Maker(value);
  if (maker >= 0) NeedUnit(maker);
  const bool leaves = maker >= 0 && flow_.units_[maker].kind == Unit::Kind::kLoop;
  if ((maker < 0 || leaves) && seen_.insert(value).second) to_mark_.push_back(value);
}

void FlowBuilder::NeedUnit(int first) {
  std::vector<int> work = {first};
  const auto need = [&](Endpoint value) {
    const int maker = flow_.Maker(value);
    if (maker < 0 || flow_.units_[maker].kind == Unit::Kind::kLoop) return Need(value);
    work.push_back(maker);
  };
  while (!work.empty()) {
    Unit& unit = flow_.units_[work.back()];
    work.pop_back();
    if (unit.is_live || unit.context == kNever) continue;
    unit.is_live = true;
    for (const Endpoint& value : unit.reads) need(value);
    work.insert(work.end(), unit.after.begin(), unit.after.end());
    for (const Choice& choice : flow_.contexts_.Choices(unit.context))
      need(flow_.Predicate(choice.symbol));
    if (unit.kind == Unit::Kind::kJoin) need(flow_.Predicate(unit.symbol));
    if (unit.kind == Unit::Kind::kLoop) need(flow_.loops_[unit.loop].predicate);
    if (unit.frame > 0) work.push_back(flow_.loops_[unit.frame].unit);
  }
}

// A value that no unit of its own frame makes.
absl::Status FlowBuilder::MarkFromOutside(Endpoint value) {
  if (IsFed(value)) return absl::OkStatus();
  const Node& node = function_.node(value.node);
  const int frame = flow_.frame_of_[value.node];
  RaisedLoop& loop = flow_.loops_[frame];
  switch (node.kind()) {
    case OpKind::kArg:
      return absl::OkStatus();
    case OpKind::kExit: {
      RaisedLoop& left = flow_.loops_[flow_.frames_.frame_of_node[value.node]];
      const auto out = left.exits.find(value.node);
      if (out == left.exits.end()) return Refuse(node, kNeverRuns);
      left.live_exits.push_back(value.node);
      Need(out->second);
      return absl::OkStatus();
    }
    case OpKind::kEnter:
      if (loop.unit < 0 || !loop.invariants.contains(value))
        return Refuse(node, "enters its loop in the first iteration only");
      NeedUnit(loop.unit);
      Need(loop.invariants.at(value));
      return absl::OkStatus();
    case OpKind::kMerge: {
      if (value.slot != 0) return Refuse(node, "is asked which of its inputs came");
      const auto number = variable_of_.find(value.node);
      if (loop.unit < 0 || number == variable_of_.end()) return Refuse(node, kNeverRuns);
      NeedUnit(loop.unit);
      LoopVariable& variable = loop.variables[number->second];
      variable.is_live = true;
      Need(variable.next);
      Need(variable.init);
      return absl::OkStatus();
    }
    default:
      return Refuse(node, kNeverRuns);
  }
}

}  // namespace gyre::raise
