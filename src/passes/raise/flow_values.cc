// Primitives hand values on under the name of what made them; everything else is a unit.
#include <algorithm>

#include "passes/raise/flow_builder.h"

namespace gyre::raise {

// Output `slot` is input 0, once the control inputs have arrived.
absl::Status FlowBuilder::HandOn(const Node& node, int slot) {
  std::vector<Endpoint>& values = flow_.values_[node.id];
  if (values.empty()) {
    for (int i = 0; i < node.num_outputs(); ++i) values.push_back({node.id, i});
  }
  values[slot] = flow_.Value(node.inputs[0]);
  Unit unit;
  unit.after = WaitsFor(node.control_inputs);
  if (unit.after.empty()) return absl::OkStatus();
  unit.kind = Unit::Kind::kForward;
  unit.reads = {values[slot]};
  values[slot] = {AddUnit(node, std::move(unit)), 0};
  return absl::OkStatus();
}

SymbolId FlowBuilder::SymbolOf(const Node& node) {
  const Endpoint root = Root(node.inputs[1]);
  const int outcomes = node.num_outputs();
  const auto [found, is_new] = symbols_.try_emplace(std::pair(root, outcomes), 0);
  if (is_new) {
    found->second = flow_.contexts_.AddSymbol(outcomes, loop_roots_.contains(root));
    flow_.predicates_.push_back(ValueOf(root));
    symbol_frames_.push_back(IsFed(root) ? 0 : flow_.frame_of_[root.node]);
  }
  return found->second;
}

absl::Status FlowBuilder::VisitSwitch(const Node& node) {
  const SymbolId symbol = SymbolOf(node);
  const std::optional<int> known = KnownOutside(flow_.frame_of_[node.id], symbol);
  for (int side = 0; side < node.num_outputs(); ++side) {
    const ContextId context = flow_.context_of_[node.id];
    if (known.has_value()) {
      flow_.sides_[node.id].push_back(*known == side ? context : kNever);
    } else {
      flow_.sides_[node.id].push_back(flow_.contexts_.With(context, {symbol, side}));
    }
  }
  GYRE_RETURN_IF_ERROR(HandOn(node, 0));
  std::vector<Endpoint>& values = flow_.values_[node.id];
  std::fill(values.begin(), values.end(), values[0]);
  return absl::OkStatus();
}

NodeId FlowBuilder::AddUnit(const Node& node, Unit unit) {
  unit.node = node.id;
  unit.frame = flow_.frame_of_[node.id];
  unit.context = flow_.context_of_[node.id];
  bool has_effects = unit.touches_world || !unit.after.empty();
  for (const Endpoint& value : unit.reads) has_effects |= HasEffects(flow_.Maker(value));
  has_effects_.push_back(has_effects);
  flow_.units_.push_back(std::move(unit));
  return static_cast<NodeId>(function_.nodes.size() + flow_.units_.size() - 1);
}

// The Switches that a value passed on its way to a reader. A Switch that only splits its own
// predicate marks by itself, others by their predicate: a conditional of the peer has one of
// each.
void FlowBuilder::Mark(Endpoint e, Unit& unit) const {
  while (!IsFed(e)) {
    const Node& node = function_.node(e.node);
    if (node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN) {
      const bool is_pivot = node.inputs[0] == node.inputs[1];
      const Endpoint by = is_pivot ? Endpoint{node.id, -1} : node.inputs[1];
      const auto symbol = symbols_.find(std::pair(Root(node.inputs[1]), node.num_outputs()));
      unit.marks.emplace_back(symbol->second, (int64_t{by.node} << 32) + by.slot + 1);
    } else if (node.kind() != OpKind::kIdentity && node.kind() != OpKind::kLoopCond) {
      return;
    }
    e = node.inputs[0];
  }
}

void FlowBuilder::MarkAll(const Node& node, Unit& unit) const {
  for (const Endpoint& e : node.inputs) Mark(e, unit);
  for (const NodeId control : node.control_inputs) {
    if (function_.node(control).num_outputs() > 0) Mark({control, 0}, unit);
  }
}

absl::Status FlowBuilder::VisitPlain(const Node& node) {
  Unit unit;
  for (const Endpoint& e : node.inputs) unit.reads.push_back(ValueOf(e));
  for (const Endpoint& e : node.inputs) {
    const Node& source = function_.node(e.node);
    const bool once = !IsFed(e) && source.kind() == OpKind::kEnter &&
                      IsLoop(flow_.frame_of_[e.node]) && !IsConstant(source);
    if (once) return Refuse(node, "reads what enters its loop in the first iteration only");
  }
  MarkAll(node, unit);
  unit.after = WaitsFor(node.control_inputs);
  const Effect effect = node.op == nullptr ? Effect::kIo : node.op->traits.effect;
  unit.is_stateful = effect != Effect::kNone;
  unit.must_run = effect == Effect::kWrite || effect == Effect::kIo;
  unit.touches_world = unit.must_run || effect == Effect::kRead;
  if (node.kind() == OpKind::kTransfer && flow_.context_of_[node.id] != kAlways)
    return Refuse(node, "sends or receives its deadness");
  flow_.unit_of_node_[node.id] =
      AddUnit(node, std::move(unit)) - static_cast<NodeId>(function_.nodes.size());
  return absl::OkStatus();
}

absl::Status FlowBuilder::VisitMerge(const Node& node) {
  std::vector<std::pair<ContextId, Leaf>> values, indices;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ContextId alive = Alive(node.inputs[i]);
    if (alive == kNever) continue;
    values.push_back({alive, {Leaf::Kind::kValue, ValueOf(node.inputs[i]), 0}});
    indices.push_back({alive, {Leaf::Kind::kIndex, {}, static_cast<int32_t>(i)}});
  }
  const ContextId context = flow_.context_of_[node.id];
  Endpoint value = Join(node, context, values, {.is_complete = true}).value;
  const Leaf index = Join(node, context, indices, {.is_complete = true});
  if (const std::vector<int> after = WaitsFor(node.control_inputs); !after.empty()) {
    Unit unit;
    unit.kind = Unit::Kind::kForward;
    unit.reads = {value};
    unit.after = after;
    value = {AddUnit(node, std::move(unit)), 0};
  }
  flow_.values_[node.id] = {value, {node.id, 1}};
  if (index.kind == Leaf::Kind::kValue) flow_.values_[node.id][1] = index.value;
  if (value.node >= static_cast<NodeId>(function_.nodes.size()))
    flow_.unit_of_node_[node.id] = flow_.Maker(value);
  return absl::OkStatus();
}

// The one of `values` that is alive, in a context around all of them.
Leaf FlowBuilder::Join(const Node& node, ContextId around,
                       const std::vector<std::pair<ContextId, Leaf>>& values, JoinOptions options) {
  if (values.empty()) return {};
  if (options.is_complete && values.size() == 1) return values.front().second;
  for (const auto& [alive, leaf] : values) {
    if (flow_.contexts_.Implies(around, alive)) return leaf;
  }
  const Choice first =
      flow_.contexts_.FirstAfter(around, flow_.contexts_.Within(around, values.front().first));
  Unit unit;
  unit.kind = Unit::Kind::kJoin;
  unit.symbol = first.symbol;
  unit.is_truth = options.is_truth;
  for (int side = 0; side < flow_.contexts_.outcomes(first.symbol); ++side) {
    std::vector<std::pair<ContextId, Leaf>> on_side;
    for (const auto& value : values) {
      const std::optional<int> known = flow_.contexts_.ValueOf(value.first, first.symbol);
      if (!known || *known == side) on_side.push_back(value);
    }
    unit.sides.push_back(
        Join(node, flow_.contexts_.With(around, {first.symbol, side}), on_side, options));
    if (unit.sides.back().kind == Leaf::Kind::kValue) unit.reads.push_back(unit.sides.back().value);
  }
  const bool is_predicate = options.is_truth && unit.sides.size() == 2 &&
                            unit.sides[0].kind == Leaf::Kind::kNone &&
                            unit.sides[1].kind == Leaf::Kind::kTrue;
  if (is_predicate) return {Leaf::Kind::kValue, flow_.Predicate(first.symbol), 0};
  MarkAll(node, unit);
  unit.marks.emplace_back(first.symbol, -1 - int64_t{node.id});  // all joins of one Merge
  const NodeId id = AddUnit(node, std::move(unit));
  flow_.units_.back().context = around;
  return {Leaf::Kind::kValue, {id, 0}, 0};
}

}  // namespace gyre::raise
