// How a Flow comes about, step by step: frames, order, contexts and values, units, what is needed.
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
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

  absl::StatusOr<Flow> Build() {
    needed_ = NeededNodes(function_, signature_);
    GYRE_ASSIGN_OR_RETURN(flow_.frames_,
                          AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed_}));
    const size_t n = function_.nodes.size();
    flow_.unit_of_node_.assign(n, -1);
    flow_.frame_of_.assign(n, 0);
    flow_.context_of_.assign(n, kNever);
    flow_.sides_.resize(n);
    flow_.values_.resize(n);
    flow_.loops_.resize(flow_.frames_.frames.size());
    waits_for_.resize(n);
    waits_known_.assign(n, false);
    FindLoops();
    FindLoopConditions();
    GYRE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, Order());
    for (const NodeId id : order) GYRE_RETURN_IF_ERROR(Visit(function_.node(id)));
    GYRE_RETURN_IF_ERROR(FinishLoops());
    GYRE_RETURN_IF_ERROR(MarkLive());
    flow_.units_of_frame_.resize(flow_.loops_.size());
    for (size_t i = 0; i < flow_.units_.size(); ++i) {
      if (flow_.units_[i].is_live)
        flow_.units_of_frame_[flow_.units_[i].frame].push_back(static_cast<int>(i));
    }
    return std::move(flow_);
  }

 private:
  static absl::Status Refuse(const Node& node, absl::string_view why) {
    return absl::UnimplementedError(
        absl::StrCat("node ", node.name, " (", node.op_name, ") ", why));
  }
  bool IsFed(Endpoint e) const { return fed_.contains(e); }
  bool IsNeeded(NodeId id) const { return needed_[id]; }
  bool IsLoop(int frame) const { return frame > 0 && is_loop_[frame]; }
  // Frames that are no loops belong to what is around them.
  int Effective(int frame) const {
    while (frame > 0 && !is_loop_[frame]) frame = flow_.frames_.frames[frame].parent;
    return frame;
  }

  void FindLoops() {
    is_loop_.assign(flow_.frames_.frames.size(), false);
    for (size_t f = 1; f < is_loop_.size(); ++f)
      is_loop_[f] = !flow_.frames_.frames[f].next_iterations.empty();
    touches_.assign(is_loop_.size(), false);
    for (const Node& node : function_.nodes) {
      flow_.frame_of_[node.id] = Effective(flow_.frames_.output_frame_of_node[node.id]);
      if (!IsNeeded(node.id) || (node.op != nullptr && !node.op->stateful())) continue;
      for (int f = flow_.frame_of_[node.id]; f > 0; f = flow_.frames_.frames[f].parent)
        touches_[f] = true;
    }
  }

  // The value that a predicate comes from, past what only hands it on.
  Endpoint Root(Endpoint e) const {
    while (!IsFed(e)) {
      const Node& node = function_.node(e.node);
      const bool hands_on = node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN ||
                            node.kind() == OpKind::kLoopCond || node.op_name == "Identity" ||
                            (node.kind() == OpKind::kEnter && IsConstant(node));
      if (!hands_on || node.signature.inputs[0].is_ref) return e;
      e = node.inputs[0];
    }
    return e;
  }

  // Of an Enter: its value is there in every iteration.
  static bool IsConstant(const Node& node) { return node.attrs.GetOr<bool>("is_constant", false); }

  void FindLoopConditions() {
    for (const Node& node : function_.nodes) {
      if (IsNeeded(node.id) && node.kind() == OpKind::kLoopCond && !IsFed({node.id, 0}))
        loop_roots_.insert(Root(node.inputs[0]));
    }
  }

  // Producers first, the back edges of loops left out; all Enters of a frame before what runs in
  // it.
  absl::StatusOr<std::vector<NodeId>> Order() const {
    const auto n = static_cast<NodeId>(function_.nodes.size());
    // Behind the nodes, one gate for each frame: it waits for the Enters, all in the frame for it.
    std::vector<int> waiting(n + flow_.frames_.frames.size(), 0);
    std::vector<std::vector<NodeId>> readers(waiting.size());
    const auto add = [&](NodeId from, NodeId to) {
      readers[from].push_back(to);
      ++waiting[to];
    };
    for (const Node& node : function_.nodes) {
      if (!IsNeeded(node.id)) continue;
      for (const Endpoint& e : node.inputs) {
        if (!IsFed(e) && !IsBackEdge(function_.node(e.node), node)) add(e.node, node.id);
      }
      for (const NodeId control : node.control_inputs) {
        if (IsNeeded(control)) add(control, node.id);
      }
      if (node.kind() == OpKind::kEnter)
        add(node.id, n + flow_.frames_.output_frame_of_node[node.id]);
      const int frame = flow_.frames_.frame_of_node[node.id];
      if (frame > 0) add(n + frame, node.id);
    }
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    for (NodeId id = 0; id < static_cast<NodeId>(waiting.size()); ++id) {
      if (waiting[id] == 0 && (id >= n || IsNeeded(id))) ready.push(id);
    }
    std::vector<NodeId> order;
    while (!ready.empty()) {
      const NodeId id = ready.top();
      ready.pop();
      if (id < n) order.push_back(id);
      for (const NodeId reader : readers[id]) {
        if (--waiting[reader] == 0) ready.push(reader);
      }
    }
    for (const Node& node : function_.nodes) {
      if (waiting[node.id] > 0) return Refuse(node, "waits for itself");
    }
    return order;
  }

  absl::Status Visit(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const ContextId context, ContextOfNode(node));
    flow_.context_of_[node.id] = context;
    if (context == kNever) return absl::OkStatus();
    switch (node.kind()) {
      case OpKind::kSwitch:
      case OpKind::kSwitchN:
        return VisitSwitch(node);
      case OpKind::kMerge:
        return IsLoopMerge(node) ? VisitVariable(node) : VisitMerge(node);
      case OpKind::kEnter:
        return VisitEnter(node);
      case OpKind::kExit:
        return VisitExit(node);
      case OpKind::kNextIteration:
        return VisitNextIteration(node);
      case OpKind::kLoopCond:
        return HandOn(node, 0);
      case OpKind::kControlTrigger:
      case OpKind::kArg:
        return absl::OkStatus();
      default:
        return VisitPlain(node);
    }
  }

  ContextId Alive(Endpoint e) const { return IsFed(e) ? kAlways : flow_.ContextOf(e); }

  // Where the node runs: where all that it waits for is alive. (A Merge needs but one, a
  // ControlTrigger none.)
  absl::StatusOr<ContextId> ContextOfNode(const Node& node) {
    if (node.kind() == OpKind::kControlTrigger) return kAlways;
    if (node.kind() == OpKind::kMerge) {
      if (IsLoopMerge(node)) return kAlways;
      std::vector<ContextId> any;
      for (const Endpoint& e : node.inputs) any.push_back(Alive(e));
      const std::optional<ContextId> context = flow_.contexts_.Or(any);
      return context ? *context : AnyOf(node, any);
    }
    ContextId context = kAlways;
    for (const Endpoint& e : node.inputs) context = flow_.contexts_.And(context, Alive(e));
    for (const NodeId control : node.control_inputs) {
      if (!IsFed({control, 0}) || function_.node(control).kind() != OpKind::kPlaceholder)
        context = flow_.contexts_.And(context, flow_.context_of_[control]);
    }
    return context;
  }

  // Where any of `contexts` holds, which are not the sides of one choice: a choice of its own, by
  // a boolean that says whether one of them does.
  ContextId AnyOf(const Node& node, const std::vector<ContextId>& contexts) {
    std::vector<std::pair<ContextId, Leaf>> leaves;
    for (const ContextId c : contexts) {
      if (c != kNever) leaves.push_back({c, {Leaf::Kind::kTrue, {}, 0}});
    }
    const SymbolId symbol = flow_.contexts_.AddSymbol(2, false);
    flow_.predicates_.push_back(Join(node, kAlways, leaves, true).value);
    symbol_frames_.push_back(flow_.frame_of_[node.id]);
    return flow_.contexts_.With(kAlways, {symbol, 1});
  }

  // ---- Primitives: they hand values on under the name of what made them.

  // Output `slot` is input 0, once the control inputs have arrived.
  absl::Status HandOn(const Node& node, int slot) {
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

  SymbolId SymbolOf(const Node& node) {
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

  // How a choice went that was made before the loop was entered.
  std::optional<int> KnownOutside(int frame, SymbolId symbol) const {
    for (; frame > 0; frame = Effective(flow_.frames_.frames[frame].parent)) {
      const auto entry = entries_.find(frame);
      if (entry == entries_.end()) continue;
      if (const auto known = flow_.contexts_.ValueOf(entry->second, symbol)) return known;
    }
    return std::nullopt;
  }

  absl::Status VisitSwitch(const Node& node) {
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

  bool IsLoopMerge(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) {
      return !IsFed(e) && function_.node(e.node).kind() == OpKind::kNextIteration;
    });
  }

  absl::Status VisitVariable(const Node& node) {
    LoopVariable variable{.merge = node.id};
    for (const Endpoint& e : node.inputs) {
      if (IsFed(e)) return Refuse(node, "is a loop's variable that is fed");
      const Node& source = function_.node(e.node);
      const bool is_entry = source.kind() == OpKind::kEnter;
      if ((!is_entry && source.kind() != OpKind::kNextIteration) || node.inputs.size() != 2)
        return Refuse(node,
                      "is a loop's variable that joins more than an Enter and a NextIteration");
      if (is_entry) variable.init = ValueOf(source.inputs[0]);
    }
    if (variable.init.node < 0) return Refuse(node, "is a loop's variable without an Enter");
    std::vector<LoopVariable>& variables = flow_.loops_[flow_.frame_of_[node.id]].variables;
    variable_of_.emplace(node.id, variables.size());
    variables.push_back(variable);
    return absl::OkStatus();
  }

  absl::Status VisitEnter(const Node& node) {
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
  int LoopUnit(const Node& enter, int frame) {
    Loop& loop = flow_.loops_[frame];
    if (loop.unit >= 0) return loop.unit;
    Unit unit;
    unit.kind = Unit::Kind::kLoop;
    unit.loop = frame;
    unit.is_stateful = touches_[frame];
    loop.unit = AddUnit(enter, std::move(unit)) - static_cast<int>(function_.nodes.size());
    flow_.units_.back().frame = Effective(flow_.frames_.frames[frame].parent);
    for (const NodeId exit : flow_.frames_.frames[frame].exits)
      flow_.unit_of_node_[exit] = loop.unit;
    return loop.unit;
  }

  absl::Status VisitExit(const Node& node) {
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

  absl::Status VisitNextIteration(const Node& node) {
    const int frame = flow_.frames_.frame_of_node[node.id];
    const std::vector<Choice> choices = flow_.contexts_.Choices(flow_.context_of_[node.id]);
    if (choices.size() != 1) return Refuse(node, "goes on by more than the loop's own condition");
    Loop& loop = flow_.loops_[frame];
    if (loop.symbol >= 0 && Choice{loop.symbol, loop.goes_on} != choices[0])
      return Refuse(node, "goes on by another condition than the rest of its loop");
    loop.symbol = choices[0].symbol;
    loop.goes_on = choices[0].value;
    loop.predicate = flow_.Predicate(loop.symbol);
    next_.emplace(node.id, IsFed(node.inputs[0]) ? node.inputs[0] : flow_.Value(node.inputs[0]));
    return absl::OkStatus();
  }

  // ---- Units.

  NodeId AddUnit(const Node& node, Unit unit) {
    unit.node = node.id;
    unit.frame = flow_.frame_of_[node.id];
    unit.context = flow_.context_of_[node.id];
    bool has_effects = unit.is_stateful || !unit.after.empty();
    for (const Endpoint& value : unit.reads) has_effects |= HasEffects(flow_.Maker(value));
    has_effects_.push_back(has_effects);
    flow_.units_.push_back(std::move(unit));
    return static_cast<NodeId>(function_.nodes.size() + flow_.units_.size() - 1);
  }

  Endpoint ValueOf(Endpoint e) const { return IsFed(e) ? e : flow_.Value(e); }

  // The Switches that a value passed on its way to a reader. A Switch that only splits its own
  // predicate marks by itself, others by their predicate: a conditional of the peer has one of
  // each.
  void Mark(Endpoint e, Unit& unit) const {
    while (!IsFed(e)) {
      const Node& node = function_.node(e.node);
      if (node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN) {
        const bool is_pivot = node.inputs[0] == node.inputs[1];
        const Endpoint by = is_pivot ? Endpoint{node.id, -1} : node.inputs[1];
        const auto symbol = symbols_.find(std::pair(Root(node.inputs[1]), node.num_outputs()));
        unit.marks.emplace_back(symbol->second, (int64_t{by.node} << 32) + by.slot + 1);
      } else if (node.op_name != "Identity" && node.kind() != OpKind::kLoopCond) {
        return;
      }
      e = node.inputs[0];
    }
  }

  void MarkAll(const Node& node, Unit& unit) const {
    for (const Endpoint& e : node.inputs) Mark(e, unit);
    for (const NodeId control : node.control_inputs) {
      if (function_.node(control).num_outputs() > 0) Mark({control, 0}, unit);
    }
  }

  absl::Status VisitPlain(const Node& node) {
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
    if (node.kind() == OpKind::kTransfer && flow_.context_of_[node.id] != kAlways)
      return Refuse(node, "sends or receives its deadness");
    flow_.unit_of_node_[node.id] =
        AddUnit(node, std::move(unit)) - static_cast<NodeId>(function_.nodes.size());
    return absl::OkStatus();
  }

  absl::Status VisitMerge(const Node& node) {
    std::vector<std::pair<ContextId, Leaf>> values, indices;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ContextId alive = Alive(node.inputs[i]);
      if (alive == kNever) continue;
      values.push_back({alive, {Leaf::Kind::kValue, ValueOf(node.inputs[i]), 0}});
      indices.push_back({alive, {Leaf::Kind::kIndex, {}, static_cast<int32_t>(i)}});
    }
    const ContextId context = flow_.context_of_[node.id];
    Endpoint value = Join(node, context, values).value;
    const Leaf index = Join(node, context, indices);
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
  Leaf Join(const Node& node, ContextId around,
            const std::vector<std::pair<ContextId, Leaf>>& values, bool is_truth = false) {
    if (values.empty()) return {};
    for (const auto& [alive, leaf] : values) {
      if (flow_.contexts_.Implies(around, alive)) return leaf;
    }
    const Choice first =
        flow_.contexts_.FirstAfter(around, flow_.contexts_.Within(around, values.front().first));
    Unit unit;
    unit.kind = Unit::Kind::kJoin;
    unit.symbol = first.symbol;
    unit.is_truth = is_truth;
    for (int side = 0; side < flow_.contexts_.outcomes(first.symbol); ++side) {
      std::vector<std::pair<ContextId, Leaf>> on_side;
      for (const auto& value : values) {
        const std::optional<int> known = flow_.contexts_.ValueOf(value.first, first.symbol);
        if (!known || *known == side) on_side.push_back(value);
      }
      unit.sides.push_back(
          Join(node, flow_.contexts_.With(around, {first.symbol, side}), on_side, is_truth));
      if (unit.sides.back().kind == Leaf::Kind::kValue)
        unit.reads.push_back(unit.sides.back().value);
    }
    MarkAll(node, unit);
    const NodeId id = AddUnit(node, std::move(unit));
    flow_.units_.back().context = around;
    return {Leaf::Kind::kValue, {id, 0}, 0};
  }

  // ---- Loops, once all is known of what is in them.

  absl::Status FinishLoops() {
    for (size_t f = 1; f < flow_.loops_.size(); ++f) {
      if (!IsLoop(static_cast<int>(f))) continue;
      GYRE_RETURN_IF_ERROR(FinishLoop(static_cast<int>(f)));
    }
    return absl::OkStatus();
  }

  absl::Status FinishLoop(int f) {
    Loop& loop = flow_.loops_[f];
    if (loop.unit < 0) return absl::OkStatus();  // nothing ever gets in
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
  absl::Status CheckEntry(int f) {
    const Loop& loop = flow_.loops_[f];
    absl::flat_hash_set<Endpoint> seen;
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

  // ---- What waits for what by control edges.

  // The units that a control edge from `node` waits for. What only hands on stands for what it
  // hands on, if that has effects to wait for.
  const std::vector<int>& WaitsForNode(NodeId id) {
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
        passes_on = node.op_name == "Const" || (node.op_name == "Identity" && !HasEffects(own));
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

  std::vector<int> WaitsFor(const std::vector<NodeId>& controls) {
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
  bool HasEffects(int unit) const {
    return unit >= 0 && unit < static_cast<int>(has_effects_.size()) && has_effects_[unit];
  }

  // ---- What is needed: for what is asked for, or for its effects.

  absl::Status MarkLive() {
    for (const Endpoint& fetch : signature_.fetches) {
      Need(ValueOf(fetch));
      const ContextId context = Alive(fetch);
      if (context <= kAlways || flow_.frame_of_[fetch.node] != 0) continue;
      const Leaf flag =
          Join(function_.node(fetch.node), kAlways, {{context, {Leaf::Kind::kTrue, {}, 0}}}, true);
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
      const Loop& loop = flow_.loops_[f];
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
  void ReadPredicates() {
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

  void Need(Endpoint value) {
    const int maker = flow_.Maker(value);
    if (maker >= 0) NeedUnit(maker);
    const bool leaves = maker >= 0 && flow_.units_[maker].kind == Unit::Kind::kLoop;
    if ((maker < 0 || leaves) && seen_.insert(value).second) to_mark_.push_back(value);
  }

  void NeedUnit(int first) {
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
  absl::Status MarkFromOutside(Endpoint value) {
    if (IsFed(value)) return absl::OkStatus();
    const Node& node = function_.node(value.node);
    const int frame = flow_.frame_of_[value.node];
    Loop& loop = flow_.loops_[frame];
    switch (node.kind()) {
      case OpKind::kArg:
        return absl::OkStatus();
      case OpKind::kExit: {
        Loop& left = flow_.loops_[flow_.frames_.frame_of_node[value.node]];
        left.live_exits.push_back(value.node);
        Need(left.exits.at(value.node));
        return absl::OkStatus();
      }
      case OpKind::kEnter:
        if (!loop.invariants.contains(value))
          return Refuse(node, "enters its loop in the first iteration only");
        NeedUnit(loop.unit);
        Need(loop.invariants.at(value));
        return absl::OkStatus();
      case OpKind::kMerge: {
        if (value.slot != 0) return Refuse(node, "is asked which of its inputs came");
        NeedUnit(loop.unit);
        LoopVariable& variable = loop.variables[variable_of_.at(value.node)];
        variable.is_live = true;
        Need(variable.next);
        Need(variable.init);
        return absl::OkStatus();
      }
      default:
        return Refuse(node, "is asked for, but never runs");
    }
  }

  const Function& function_;
  const RunSignature& signature_;
  const absl::flat_hash_set<Endpoint> fed_;
  Flow flow_;
  std::vector<bool> needed_;
  std::vector<bool> is_loop_;  // by frame
  std::vector<bool> touches_;  // by frame: something in it has effects or reads the world
  absl::flat_hash_set<Endpoint> loop_roots_;
  absl::flat_hash_map<std::pair<Endpoint, int>, SymbolId> symbols_;  // by root and outcomes
  std::vector<int> symbol_frames_;  // by symbol: where its predicate is made
  absl::flat_hash_map<NodeId, ContextId> enter_contexts_;
  absl::flat_hash_map<int, ContextId> entries_;  // by frame: where it is entered
  absl::flat_hash_map<std::pair<int, Endpoint>, Endpoint> constants_;
  absl::flat_hash_map<NodeId, size_t> variable_of_;  // by Merge
  absl::flat_hash_map<NodeId, Choice> exit_choices_;
  absl::flat_hash_map<NodeId, Endpoint> next_;  // NextIteration → the value that goes on
  std::vector<bool> has_effects_;
  std::vector<std::vector<int>> waits_for_;
  std::vector<bool> waits_known_;
  absl::flat_hash_set<Endpoint> seen_;  // values from outside that are needed
  std::vector<Endpoint> to_mark_;
};

absl::StatusOr<Flow> Flow::Make(const Function& function, const RunSignature& signature) {
  return FlowBuilder(function, signature).Build();
}

}  // namespace gyre::raise
