// Loops of primitives as While nodes.
//
//   init ─ Enter ─► Merge ─► cond ─► LoopCond          %exit = While(%init, …; invariants)
//                     ▲  └─► Switch ─┬─false─► Exit         cond=@cond body=@body
//                     │              └─true──► body ─┐
//                     └──────────── NextIteration ◄──┘
//
// What runs in every iteration is the condition's, what runs where the loop goes on is the body's,
// and what runs where it does not comes after the loop. Pure values that the condition has made are
// made again where body or exits read them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "passes/raise/emitter.h"

namespace gyre::raise {
namespace {

// Another node with the same inputs, right after it, makes the same and changes nothing.
bool MayRunAgain(const Unit& unit) {
  const bool only_reads = unit.kind == Unit::Kind::kNode && unit.touches_world && !unit.must_run;
  return !unit.is_stateful || only_reads;
}

// The node that makes a value, past Identities; null: it comes from outside.
const Unit* MakerOf(const Flow& flow, Endpoint& value) {
  while (true) {
    const int maker = flow.Maker(value);
    if (maker < 0 || flow.unit(maker).kind != Unit::Kind::kNode) return nullptr;
    const Unit& unit = flow.unit(maker);
    if (flow.function().node(unit.node).kind() != OpKind::kIdentity) return &unit;
    value = unit.reads[0];
  }
}

bool IsOp(const Flow& flow, const Unit* unit, absl::string_view op) {
  return unit != nullptr && flow.function().node(unit->node).op_name == op;
}

std::optional<int64_t> IntegerOf(const Flow& flow, Endpoint value) {
  const Unit* const unit = MakerOf(flow, value);
  if (!IsOp(flow, unit, "Const")) return std::nullopt;
  const auto* t = flow.function().node(unit->node).attrs.Get<Tensor>("value");
  if (t == nullptr || t->rank() != 0) return std::nullopt;
  if (t->dtype() == DType::kInt32) return t->scalar<int32_t>();
  if (t->dtype() == DType::kInt64) return t->scalar<int64_t>();
  return std::nullopt;
}

// A variable that starts at 0 and grows by 1.
bool IsCounter(const Flow& flow, const LoopVariable& variable) {
  Endpoint next = variable.next;
  const Unit* const unit = MakerOf(flow, next);
  const bool adds = IsOp(flow, unit, "AddV2") || IsOp(flow, unit, "Add");
  if (!adds || IntegerOf(flow, variable.init) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    Endpoint counted = unit->reads[i];
    MakerOf(flow, counted);
    if (counted == Endpoint{variable.merge, 0} && IntegerOf(flow, unit->reads[1 - i]) == 1)
      return true;
  }
  return false;
}

// The constant that a counter of the loop is compared with by its condition, alone or with others:
// what the peer makes of `maximum_iterations`. The loop makes no more iterations than this.
std::optional<int64_t> MaximumIterations(const Flow& flow, const RaisedLoop& loop) {
  Endpoint predicate = loop.predicate;
  const Unit* const both = MakerOf(flow, predicate);
  std::vector<Endpoint> conditions = {predicate};
  if (IsOp(flow, both, "LogicalAnd")) conditions = both->reads;
  for (Endpoint condition : conditions) {
    const Unit* const less = MakerOf(flow, condition);
    if (loop.goes_on != 1 || !IsOp(flow, less, "Less")) continue;
    const std::optional<int64_t> limit = IntegerOf(flow, less->reads[1]);
    Endpoint counter = less->reads[0];
    MakerOf(flow, counter);
    for (const LoopVariable& variable : loop.variables) {
      if (limit && counter == Endpoint{variable.merge, 0} && IsCounter(flow, variable))
        return std::max<int64_t>(*limit, 0);
    }
  }
  return std::nullopt;
}

}  // namespace

// The units of a loop's frame that run in `around`, and those for all iterations that they, or
// `wanted`, read. `with_effects`: and those for all iterations that must run.
absl::StatusOr<std::vector<Member>> RaisingEmitter::MembersOfLoop(
    int frame, ContextId around, const std::vector<Endpoint>& wanted, bool with_effects) const {
  const RaisedLoop& loop = flow_.loop(frame);
  HashSet<int> taken;
  std::vector<int> work;
  const auto take = [&](int unit) {
    const bool is_here = unit >= 0 && flow_.unit(unit).frame == frame;
    if (is_here && taken.insert(unit).second) work.push_back(unit);
  };
  for (const int unit : flow_.units_of_frame(frame)) {
    const std::optional<int> side = contexts_.ValueOf(flow_.unit(unit).context, loop.symbol);
    const std::optional<int> want = contexts_.ValueOf(around, loop.symbol);
    if (side.has_value() ? side == want : with_effects && flow_.unit(unit).must_run) take(unit);
  }
  for (const Endpoint& value : wanted) take(flow_.Maker(value));
  while (!work.empty()) {
    const Unit& unit = flow_.unit(work.back());
    work.pop_back();
    for (const Endpoint& value : unit.reads) take(flow_.Maker(value));
    for (const int other : unit.after) {
      // A wait for what runs on the other side, or in other iterations, is over already.
      const std::optional<int> side = contexts_.ValueOf(flow_.unit(other).context, loop.symbol);
      if (flow_.unit(other).is_live && side == contexts_.ValueOf(around, loop.symbol)) take(other);
    }
    for (const Choice& choice : contexts_.Choices(unit.context)) {
      if (choice.symbol != loop.symbol) take(flow_.Maker(flow_.Predicate(choice.symbol)));
    }
    if (unit.kind == Unit::Kind::kJoin) take(flow_.Maker(flow_.Predicate(unit.symbol)));
  }
  std::vector<Member> members;
  for (const int unit : flow_.units_of_frame(frame)) {
    if (!taken.contains(unit)) continue;
    const bool is_for_all = !contexts_.ValueOf(flow_.unit(unit).context, loop.symbol).has_value();
    if (around != kAlways && is_for_all && !MayRunAgain(flow_.unit(unit))) {
      const Node& node = flow_.function().node(flow_.unit(unit).node);
      return absl::UnimplementedError(absl::StrCat(
          "node ", node.name, " (", node.op_name,
          ") acts or draws in its loop's condition, and its value is read in the body"));
    }
    members.push_back({unit, contexts_.Within(around, flow_.unit(unit).context)});
  }
  return members;
}

absl::Status RaisingEmitter::EmitLoop(RaisedScope& scope, int id) {
  const Unit& unit = flow_.unit(id);
  const int frame = unit.loop;
  const RaisedLoop& loop = flow_.loop(frame);
  std::vector<const LoopVariable*> variables;
  for (const LoopVariable& variable : loop.variables) {
    if (variable.is_live) variables.push_back(&variable);
  }
  const std::string name = flow_.frame(frame).name;
  const auto open = [&](absl::string_view role) {
    std::unique_ptr<RaisedScope> inner = Open(scope, absl::StrCat(name, "/", role));
    inner->loop = frame;
    for (const LoopVariable* variable : variables) {
      const NodeSignature::Slot type = flow_.TypeOf({variable->merge, 0});
      inner->values.emplace(Endpoint{variable->merge, 0},
                            inner->builder.Arg(flow_.NameOf({variable->merge, 0}), type.dtype,
                                               PartialShape::Unknown(), type.is_ref));
    }
    return inner;
  };

  const std::unique_ptr<RaisedScope> cond = open("cond");
  GYRE_ASSIGN_OR_RETURN(std::vector<Member> members,
                        MembersOfLoop(frame, kAlways, {loop.predicate}, true));
  GYRE_RETURN_IF_ERROR(EmitRegion(*cond, kAlways, members, {loop.predicate}));
  GYRE_ASSIGN_OR_RETURN(Endpoint goes_on, FindPredicate(*cond, loop.predicate));
  if (loop.goes_on == 0) {
    GYRE_ASSIGN_OR_RETURN(goes_on, cond->builder.Add1("LogicalNot", {goes_on}));
  }
  cond->builder.Return("goes_on", goes_on);

  const std::unique_ptr<RaisedScope> body = open("body");
  std::vector<Endpoint> next;
  for (const LoopVariable* variable : variables) next.push_back(variable->next);
  const ContextId within = contexts_.With(kAlways, {loop.symbol, loop.goes_on});
  GYRE_ASSIGN_OR_RETURN(members, MembersOfLoop(frame, within, next, false));
  GYRE_RETURN_IF_ERROR(
      EmitRegion(*body, within, members, HashSet<Endpoint>(next.begin(), next.end())));
  for (const LoopVariable* variable : variables) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint value, Find(*body, variable->next));
    body->builder.Return(flow_.NameOf({variable->merge, 0}), value);
  }
  const std::vector<Endpoint> invariants =
      ShareCaptures({cond.get(), body.get()}, variables.size());
  for (const Endpoint& value : invariants)
    body->builder.Return(flow_.NameOf(value), body->args.at(value));

  std::vector<Endpoint> inputs;
  for (const LoopVariable* variable : variables) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, variable->init));
  }
  for (const Endpoint& value : invariants) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, value));
  }
  std::vector<int> waits = unit.after;
  for (const RaisedScope* inner : {cond.get(), body.get()})
    waits.insert(waits.end(), inner->waits.begin(), inner->waits.end());
  std::erase_if(waits, [&](int other) { return flow_.unit(other).frame == frame; });
  AttrMap attrs;
  attrs.Set("cond", FunctionRef{cond->builder.name(), nullptr});
  attrs.Set("body", FunctionRef{body->builder.name(), nullptr});
  attrs.Set("parallel_iterations", flow_.frame(frame).parallel_iterations);
  if (const std::optional<int64_t> most = MaximumIterations(flow_, loop))
    attrs.Set("_maximum_iterations", *most);
  FunctionBuilder::NodeOptions options;
  options.name = name;
  options.control_inputs = ControlsOf(scope, waits, inputs);
  GYRE_ASSIGN_OR_RETURN(const NodeId made,
                        scope.builder.Add(unit.is_stateful ? "While" : "StatelessWhile", inputs,
                                          std::move(attrs), std::move(options)));
  Close(*cond);
  Close(*body);
  scope.nodes.insert_or_assign(id, made);
  if (unit.must_run) scope.effects.push_back(made);
  return EmitExits(scope, loop, frame, made, variables);
}

// What the loop lets out: variables as they are at its end, and what is made of them then.
absl::Status RaisingEmitter::EmitExits(RaisedScope& scope, const RaisedLoop& loop, int frame,
                                       NodeId made,
                                       const std::vector<const LoopVariable*>& variables) {
  for (size_t i = 0; i < variables.size(); ++i)
    scope.values.insert_or_assign(Endpoint{variables[i]->merge, 0},
                                  Endpoint{made, static_cast<int>(i)});
  std::vector<Endpoint> exits;
  for (const NodeId exit : loop.live_exits) exits.push_back(loop.exits.at(exit));
  const ContextId after = contexts_.With(kAlways, {loop.symbol, 1 - loop.goes_on});
  GYRE_ASSIGN_OR_RETURN(const std::vector<Member> members,
                        MembersOfLoop(frame, after, exits, false));
  std::vector<Endpoint> read = exits;
  for (const Member& member : members) {
    const std::vector<Endpoint>& reads = flow_.unit(member.unit).reads;
    read.insert(read.end(), reads.begin(), reads.end());
  }
  for (const Endpoint& value : read) {
    const auto invariant = loop.invariants.find(value);
    if (invariant == loop.invariants.end()) continue;
    GYRE_ASSIGN_OR_RETURN(const Endpoint outside, Find(scope, invariant->second));
    scope.values.insert_or_assign(value, outside);
  }
  GYRE_RETURN_IF_ERROR(
      EmitRegion(scope, after, members, HashSet<Endpoint>(exits.begin(), exits.end())));
  std::erase_if(scope.waits, [&](int other) { return flow_.unit(other).frame == frame; });
  for (const NodeId exit : loop.live_exits) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint out, Find(scope, loop.exits.at(exit)));
    scope.values.insert_or_assign(Endpoint{exit, 0}, out);
  }
  return absl::OkStatus();
}

}  // namespace gyre::raise
