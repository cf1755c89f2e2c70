#include "passes/raise/emitter.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::raise {

// Writes the units of one region in an order in which each finds what it reads.
//
// What runs everywhere in the region is written node by node. The rest is gathered by the choice
// that it hangs on, and by what hangs together (Groups): each group becomes one If or Case, unless
// something in it needs what comes of it elsewhere. Then it is written in as many pieces as that
// takes.
class Region {
 public:
  Region(Emitter& emitter, Scope& scope, ContextId around, const std::vector<Member>& members,
         const absl::flat_hash_set<Endpoint>& wanted)
      : emitter_(emitter),
        flow_(emitter.flow_),
        contexts_(emitter.contexts_),
        scope_(scope),
        around_(around),
        members_(members),
        wanted_(wanted) {}

  absl::Status Emit() {
    Gather();
    Connect();
    Group();
    std::vector<int> first;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (waiting_[i] == 0) first.push_back(static_cast<int>(i));
    }
    for (const int i : first) Ready(i);
    while (true) {
      GYRE_RETURN_IF_ERROR(EmitPlain());
      const int group = NextGroup();
      if (group < 0) break;
      GYRE_RETURN_IF_ERROR(EmitPiece(group));
    }
    if (num_emitted_ == members_.size()) return absl::OkStatus();
    for (size_t i = 0; i < members_.size(); ++i) {
      if (emitted_[i]) continue;
      const Node& node = flow_.function().node(flow_.unit(members_[i].unit).node);
      return absl::UnimplementedError(
          absl::StrCat("node ", node.name, " (", node.op_name, ") needs what only comes after it"));
    }
    return absl::OkStatus();
  }

 private:
  const Unit& UnitAt(int i) const { return flow_.unit(members_[i].unit); }
  bool IsPlain(int i) const { return group_of_[i] < 0; }
  // A join that the region sees: it comes out of its If.
  bool IsJoinHere(int i) const {
    return UnitAt(i).kind == Unit::Kind::kJoin && members_[i].context == around_;
  }
  // Whether an edge between the two is inside one piece of their group.
  bool IsInside(int from, int to) const {
    return group_of_[from] >= 0 && group_of_[from] == group_of_[to] && !IsJoinHere(from);
  }

  void Gather() {
    for (size_t i = 0; i < members_.size(); ++i) index_of_.emplace(members_[i].unit, i);
    readers_.resize(members_.size());
    waiting_.assign(members_.size(), 0);
    group_of_.assign(members_.size(), -1);
    emitted_.assign(members_.size(), false);
  }

  void AddEdge(int from_unit, int to) {
    const auto from = index_of_.find(from_unit);
    if (from == index_of_.end() || from->second == to) return;
    readers_[from->second].push_back(to);
    ++waiting_[to];
  }

  void AddRead(Endpoint value, int reader) {
    const int maker = flow_.Maker(value);
    if (maker < 0 || !index_of_.contains(maker)) return;
    AddEdge(maker, reader);
    value_readers_[value].push_back(reader);
  }

  void Connect() {
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      const Unit& unit = UnitAt(i);
      for (const Endpoint& value : unit.reads) AddRead(value, i);
      for (const int other : unit.after) AddEdge(other, i);
      for (ContextId c = members_[i].context; c != around_; c = contexts_.parent(c))
        AddRead(flow_.Predicate(contexts_.choice(c).symbol), i);
      if (unit.kind == Unit::Kind::kJoin) AddRead(flow_.Predicate(unit.symbol), i);
    }
    for (const Endpoint& value : wanted_) {
      const int maker = flow_.Maker(value);
      if (maker >= 0 && index_of_.contains(maker)) value_readers_.try_emplace(value);
    }
  }

  // What hangs together: Tarjan's union by parent, path halving.
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(int a, int b) { parent_[Find(a)] = Find(b); }

  void Group() {
    parent_.resize(members_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    std::vector<SymbolId> symbol_of(members_.size(), -1);
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].context != around_) {
        symbol_of[i] = contexts_.FirstAfter(around_, members_[i].context).symbol;
      } else if (UnitAt(static_cast<int>(i)).kind == Unit::Kind::kJoin) {
        symbol_of[i] = UnitAt(static_cast<int>(i)).symbol;
      }
    }
    absl::flat_hash_map<std::pair<SymbolId, int64_t>, int> first_with;
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      if (symbol_of[i] < 0) continue;
      for (const int reader : readers_[i]) {
        if (symbol_of[reader] == symbol_of[i] && !IsJoinHere(i)) Unite(i, reader);
      }
      for (const auto& mark : UnitAt(i).marks) {
        if (mark.first != symbol_of[i]) continue;
        const auto [first, is_new] = first_with.try_emplace(mark, i);
        if (!is_new) Unite(i, first->second);
      }
    }
    absl::flat_hash_map<int, int> numbers;
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      if (symbol_of[i] < 0) continue;
      const auto [number, is_new] = numbers.try_emplace(Find(i), groups_.size());
      if (is_new) groups_.push_back({symbol_of[i], 0, {}});
      group_of_[i] = number->second;
      ++groups_[number->second].left;
    }
  }

  // All that `i` waits for is there, or will be in the same piece.
  void Ready(int first) {
    std::vector<int> work = {first};
    while (!work.empty()) {
      const int i = work.back();
      work.pop_back();
      if (IsPlain(i)) {
        plain_.push(i);
        continue;
      }
      groups_[group_of_[i]].ready.push_back(i);
      if (static_cast<size_t>(groups_[group_of_[i]].left) == groups_[group_of_[i]].ready.size())
        complete_.push(group_of_[i]);
      for (const int reader : readers_[i]) {
        if (IsInside(i, reader) && --waiting_[reader] == 0) work.push_back(reader);
      }
    }
  }

  void Emitted(int i) {
    emitted_[i] = true;
    ++num_emitted_;
    for (const int reader : readers_[i]) {
      if (!IsInside(i, reader) && --waiting_[reader] == 0) Ready(reader);
    }
  }

  absl::Status EmitPlain() {
    while (!plain_.empty()) {
      const int i = plain_.top();
      plain_.pop();
      GYRE_RETURN_IF_ERROR(emitter_.EmitUnit(scope_, members_[i].unit));
      Emitted(i);
    }
    return absl::OkStatus();
  }

  // A group that is there as a whole, or else one of which something is there; -1: none.
  int NextGroup() {
    while (!complete_.empty()) {
      const int group = complete_.top();
      complete_.pop();
      if (groups_[group].left > 0 &&
          static_cast<size_t>(groups_[group].left) == groups_[group].ready.size()) {
        return group;
      }
    }
    for (; next_partial_ < groups_.size(); ++next_partial_) {
      if (!groups_[next_partial_].ready.empty()) return static_cast<int>(next_partial_);
    }
    next_partial_ = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].ready.empty()) return static_cast<int>(g);
    }
    return -1;
  }

  absl::Status EmitPiece(int g) {
    std::vector<int> piece = std::move(groups_[g].ready);
    groups_[g].ready.clear();
    groups_[g].left -= static_cast<int>(piece.size());
    std::sort(piece.begin(), piece.end());
    const absl::flat_hash_set<int> inside(piece.begin(), piece.end());
    std::vector<Member> members;
    for (const int i : piece) members.push_back(members_[i]);
    std::vector<Endpoint> exports;
    for (const auto& [value, readers] : value_readers_) {
      const auto maker = index_of_.find(flow_.Maker(value));
      if (!inside.contains(maker->second)) continue;
      const bool leaves = std::any_of(readers.begin(), readers.end(), [&](int reader) {
        return !inside.contains(reader) || IsJoinHere(maker->second);
      });
      if (leaves || wanted_.contains(value)) exports.push_back(value);
    }
    std::sort(exports.begin(), exports.end(), [](Endpoint a, Endpoint b) {
      return std::pair(a.node, a.slot) < std::pair(b.node, b.slot);
    });
    GYRE_RETURN_IF_ERROR(emitter_.EmitChoice(scope_, around_, groups_[g].symbol, members, exports));
    for (const int i : piece) Emitted(i);
    return absl::OkStatus();
  }

  struct OneGroup {
    SymbolId symbol;
    int left;                // units that are not written yet …
    std::vector<int> ready;  // … and those of them that could be
  };

  Emitter& emitter_;
  Flow& flow_;
  Contexts& contexts_;
  Scope& scope_;
  const ContextId around_;
  const std::vector<Member>& members_;
  const absl::flat_hash_set<Endpoint>& wanted_;
  absl::flat_hash_map<int, int> index_of_;  // by unit; all below are by index in members_
  std::vector<std::vector<int>> readers_;
  absl::flat_hash_map<Endpoint, std::vector<int>> value_readers_;
  std::vector<int> waiting_;
  std::vector<int> parent_;
  std::vector<int> group_of_;
  std::vector<OneGroup> groups_;
  std::vector<bool> emitted_;
  size_t num_emitted_ = 0;
  std::priority_queue<int, std::vector<int>, std::greater<>> plain_;
  std::priority_queue<int, std::vector<int>, std::greater<>> complete_;
  size_t next_partial_ = 0;
};

absl::Status Emitter::EmitRegion(Scope& scope, ContextId around, const std::vector<Member>& members,
                                 const absl::flat_hash_set<Endpoint>& wanted) {
  return Region(*this, scope, around, members, wanted).Emit();
}

std::string Emitter::UniqueName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
  return name;
}

std::unique_ptr<Scope> Emitter::Open(Scope& parent, const std::string& name) {
  Function start;
  start.name = UniqueName(name);
  return std::make_unique<Scope>(ops_, std::move(start), &parent);
}

absl::StatusOr<Endpoint> Emitter::Find(Scope& scope, Endpoint value) {
  const auto found = scope.values.find(value);
  if (found != scope.values.end()) return found->second;
  if (scope.parent == nullptr)
    return BugError(absl::StrCat("raising: nothing makes ", flow_.NameOf(value)));
  Endpoint outside = value;
  if (scope.loop > 0) {
    const auto& invariants = flow_.loop(scope.loop).invariants;
    const auto invariant = invariants.find(value);
    if (invariant != invariants.end()) outside = invariant->second;
  }
  const auto [arg, is_new] = scope.args.try_emplace(outside, Endpoint{});
  if (is_new) {
    const NodeSignature::Slot type = flow_.TypeOf(value);
    if (type.dtype == DType::kInvalid)
      return absl::UnimplementedError(
          absl::StrCat("nobody knows the type of ", flow_.NameOf(value)));
    arg->second =
        scope.builder.Arg(flow_.NameOf(outside), type.dtype, PartialShape::Unknown(), type.is_ref);
    scope.captures.push_back(outside);
  }
  scope.values.emplace(value, arg->second);
  return arg->second;
}

NodeId Emitter::FindNode(Scope& scope, int unit) {
  const auto found = scope.nodes.find(unit);
  if (found != scope.nodes.end()) return found->second;
  scope.waits.push_back(unit);
  return -1;
}

std::vector<NodeId> Emitter::ControlsOf(Scope& scope, const std::vector<int>& units) {
  std::vector<NodeId> controls;
  for (const int unit : units) {
    if (!flow_.unit(unit).is_live) continue;
    if (const NodeId node = FindNode(scope, unit); node >= 0) controls.push_back(node);
  }
  std::sort(controls.begin(), controls.end());
  controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
  return controls;
}

absl::Status Emitter::EmitUnit(Scope& scope, int id) {
  switch (flow_.unit(id).kind) {
    case Unit::Kind::kNode:
    case Unit::Kind::kForward:
      return EmitNode(scope, id);
    case Unit::Kind::kLoop:
      return EmitLoop(scope, id);
    case Unit::Kind::kJoin:
      break;
  }
  return BugError("raising: a join stands alone");
}

absl::Status Emitter::EmitNode(Scope& scope, int id) {
  const Unit& unit = flow_.unit(id);
  const Node& node = flow_.function().node(unit.node);
  std::vector<Endpoint> inputs;
  for (const Endpoint& value : unit.reads) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, value));
  }
  std::vector<NodeId> controls = ControlsOf(scope, unit.after);
  if (unit.kind == Unit::Kind::kForward) {
    FunctionBuilder::NodeOptions options;
    options.name = node.name;
    options.control_inputs = std::move(controls);
    GYRE_ASSIGN_OR_RETURN(const NodeId made,
                          scope.builder.Add("Identity", inputs, {}, std::move(options)));
    scope.nodes.emplace(id, made);
    scope.values[{static_cast<NodeId>(flow_.function().nodes.size()) + id, 0}] = {made, 0};
    return absl::OkStatus();
  }
  const NodeId made = scope.builder.Copy(node, std::move(inputs), std::move(controls));
  scope.nodes.emplace(id, made);
  for (int slot = 0; slot < node.num_outputs(); ++slot)
    scope.values.insert_or_assign(Endpoint{node.id, slot}, Endpoint{made, slot});
  if (unit.must_run) scope.effects.push_back(made);
  return absl::OkStatus();
}

// The same function with its arguments in front of all other nodes.
Function ArgsFirst(Function function) {
  std::vector<NodeId> order = function.arg_nodes;
  for (const Node& node : function.nodes) {
    if (node.kind() != OpKind::kArg) order.push_back(node.id);
  }
  std::vector<NodeId> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<NodeId>(i);
  std::vector<Node> nodes;
  for (const NodeId id : order) {
    Node& node = nodes.emplace_back(std::move(function.nodes[id]));
    node.id = place[id];
    for (Endpoint& e : node.inputs) e.node = place[e.node];
    for (NodeId& control : node.control_inputs) control = place[control];
  }
  function.nodes = std::move(nodes);
  for (NodeId& arg : function.arg_nodes) arg = place[arg];
  for (FunctionResult& result : function.results) result.value.node = place[result.value.node];
  for (auto& [name, node] : function.control_results) node = place[node];
  return function;
}

void Emitter::Close(Scope& scope) {
  std::sort(scope.effects.begin(), scope.effects.end());
  scope.effects.erase(std::unique(scope.effects.begin(), scope.effects.end()), scope.effects.end());
  for (const NodeId node : scope.effects)
    scope.builder.ReturnControl(scope.builder.node(node).name, node);
  functions_.push_back(ArgsFirst(scope.builder.Build()));
}

std::vector<Endpoint> Emitter::ShareCaptures(const std::vector<Scope*>& scopes, size_t fixed) {
  std::vector<Endpoint> all;
  absl::flat_hash_set<Endpoint> seen;
  for (const Scope* scope : scopes) {
    for (const Endpoint& value : scope->captures) {
      if (seen.insert(value).second) all.push_back(value);
    }
  }
  for (Scope* scope : scopes) {
    std::vector<Endpoint> order;
    for (const Endpoint& value : all) {
      Endpoint& arg = scope->args.try_emplace(value, Endpoint{}).first->second;
      if (arg.node < 0) {
        const NodeSignature::Slot type = flow_.TypeOf(value);
        arg = scope->builder.Arg(flow_.NameOf(value), type.dtype, PartialShape::Unknown(),
                                 type.is_ref);
      }
      order.push_back(arg);
    }
    scope->builder.OrderArgs(fixed, order);
  }
  return all;
}

// A Switch takes a scalar only; an If would take anything.
absl::StatusOr<Endpoint> Emitter::FindPredicate(Scope& scope, SymbolId symbol) {
  const Endpoint value = flow_.Predicate(symbol);
  GYRE_ASSIGN_OR_RETURN(const Endpoint here, Find(scope, value));
  if (is_scalar_(value)) return here;
  FunctionBuilder::NodeOptions options;
  options.name = absl::StrCat(flow_.NameOf(value), "/scalar");
  AttrMap attrs;
  attrs.Set("shape", PartialShape::Scalar());
  return scope.builder.Add1("EnsureShape", {here}, std::move(attrs), std::move(options));
}

// If, or Case where there are more than two sides:
//
//   x ─ Switch ─┬─true── f ─┐
//        p ┘    │           ├─ Merge ─►     becomes    %merge = If(%p, %x) then_branch=@f, …
//               └─false─ g ─┘
//
// A value of one side that is read outside comes out as a result, too; the other sides have
// something in its place that nobody reads.
absl::Status Emitter::EmitChoice(Scope& scope, ContextId around, SymbolId symbol,
                                 const std::vector<Member>& members,
                                 const std::vector<Endpoint>& exports) {
  const int outcomes = contexts_.outcomes(symbol);
  std::string name;
  bool is_stateful = false, must_run = false;
  for (const Member& member : members) {
    const Unit& unit = flow_.unit(member.unit);
    const bool is_join = unit.kind == Unit::Kind::kJoin && member.context == around;
    if (name.empty() || (is_join && name.back() == '/'))
      name = absl::StrCat(flow_.function().node(unit.node).name, is_join ? "" : "/");
    is_stateful |= unit.is_stateful;
    must_run |= unit.must_run;
  }
  if (name.back() == '/') name += "if";

  std::vector<std::unique_ptr<Scope>> sides;
  for (int side = 0; side < outcomes; ++side) {
    const std::string role = outcomes > 2 ? absl::StrCat("branch_", side)
                             : side == 1  ? "then"
                                          : "else";
    sides.push_back(Open(scope, absl::StrCat(name, "/", role)));
    Scope& inner = *sides.back();
    std::vector<Member> within;
    absl::flat_hash_set<Endpoint> wanted;
    const ContextId here = contexts_.With(around, {symbol, side});
    absl::flat_hash_set<int> made_here;
    for (const Member& member : members) {
      const Unit& unit = flow_.unit(member.unit);
      if (member.context == around) {
        if (unit.sides[side].kind == Leaf::Kind::kValue) wanted.insert(unit.sides[side].value);
      } else if (contexts_.FirstAfter(around, member.context).value == side) {
        within.push_back(member);
        made_here.insert(member.unit);
      }
    }
    for (const Endpoint& value : exports) {
      if (made_here.contains(flow_.Maker(value))) wanted.insert(value);
    }
    GYRE_RETURN_IF_ERROR(EmitRegion(inner, here, within, wanted));
    for (const Endpoint& value : exports) {
      const int maker = flow_.Maker(value);
      const Unit& unit = flow_.unit(maker);
      Leaf leaf;
      if (unit.kind == Unit::Kind::kJoin && !made_here.contains(maker) && unit.symbol == symbol &&
          std::any_of(members.begin(), members.end(), [&](const Member& member) {
            return member.unit == maker && member.context == around;
          })) {
        leaf = unit.sides[side];
      } else if (made_here.contains(maker)) {
        leaf = {Leaf::Kind::kValue, value, 0};
      }
      if (leaf.kind == Leaf::Kind::kNone && unit.is_truth) leaf.kind = Leaf::Kind::kFalse;
      GYRE_ASSIGN_OR_RETURN(const Endpoint result, EmitLeaf(inner, leaf, value));
      inner.builder.Return(flow_.NameOf(value), result);
    }
  }
  std::vector<Scope*> scopes;
  for (const auto& side : sides) scopes.push_back(side.get());
  const std::vector<Endpoint> captures = ShareCaptures(scopes, 0);
  GYRE_ASSIGN_OR_RETURN(const Endpoint predicate, FindPredicate(scope, symbol));
  std::vector<Endpoint> inputs = {predicate};
  for (const Endpoint& value : captures) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, value));
  }
  std::vector<int> waits;
  for (const auto& side : sides) waits.insert(waits.end(), side->waits.begin(), side->waits.end());
  AttrMap attrs;
  std::vector<DType> types;
  for (const Endpoint& value : exports) types.push_back(flow_.TypeOf(value).dtype);
  attrs.Set("Tout", std::move(types));
  std::vector<FunctionRef> branches;
  for (const auto& side : sides) branches.push_back({side->builder.name(), nullptr});
  if (outcomes == 2) {
    attrs.Set("then_branch", branches[1]);
    attrs.Set("else_branch", branches[0]);
  } else {
    attrs.Set("branches", std::move(branches));
  }
  FunctionBuilder::NodeOptions options;
  options.name = name;
  options.control_inputs = ControlsOf(scope, waits);
  const std::string op =
      absl::StrCat(is_stateful ? "" : "Stateless", outcomes == 2 ? "If" : "Case");
  GYRE_ASSIGN_OR_RETURN(const NodeId made,
                        scope.builder.Add(op, inputs, std::move(attrs), std::move(options)));
  for (size_t i = 0; i < exports.size(); ++i)
    scope.values.insert_or_assign(exports[i], Endpoint{made, static_cast<int>(i)});
  for (const Member& member : members) scope.nodes.insert_or_assign(member.unit, made);
  if (must_run) scope.effects.push_back(made);
  for (const auto& side : sides) Close(*side);
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> Emitter::EmitLeaf(Scope& scope, const Leaf& leaf, Endpoint in_place_of) {
  switch (leaf.kind) {
    case Leaf::Kind::kValue:
      return Find(scope, leaf.value);
    case Leaf::Kind::kIndex:
      return scope.builder.Constant(Tensor::Scalar<int32_t>(leaf.index));
    case Leaf::Kind::kTrue:
    case Leaf::Kind::kFalse:
      return scope.builder.Constant(Tensor::Scalar(leaf.kind == Leaf::Kind::kTrue));
    case Leaf::Kind::kNone:
      break;
  }
  const NodeSignature::Slot type = flow_.TypeOf(in_place_of);
  if (type.is_ref)
    return absl::UnimplementedError(absl::StrCat("the reference ", flow_.NameOf(in_place_of),
                                                 " comes out of one side of a choice only"));
  AttrMap attrs;
  attrs.Set("dtype", type.dtype);
  attrs.Set("shape", PartialShape::Unknown());
  return scope.builder.Add1("FakeParam", {}, std::move(attrs));
}

}  // namespace gyre::raise
