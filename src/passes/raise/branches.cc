// What hangs on one choice, as an If or a Case.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "passes/raise/emitter.h"

namespace gyre::raise {

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
  options.control_inputs = ControlsOf(scope, waits, inputs);
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
