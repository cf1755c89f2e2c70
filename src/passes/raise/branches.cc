// What hangs on one choice, as an If or a Case.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "passes/raise/emitter.h"

namespace gyre::raise {

// A Switch and a LoopCond take a scalar only; an If and a While would take anything.
absl::StatusOr<Endpoint> RaisingEmitter::FindPredicate(RaisedScope& scope, Endpoint value) {
  GYRE_ASSIGN_OR_RETURN(const Endpoint here, Find(scope, value));
  if (is_scalar_(value)) return here;
  FunctionBuilder::NodeOptions options;
  options.name = absl::StrCat(flow_.NameOf(value), "/scalar");
  AttrMap attrs;
  attrs.Set("shape", PartialShape::Scalar());
  return scope.builder.Add1("EnsureShape", {here}, std::move(attrs), std::move(options));
}

// The function of one side: what runs there, and what of it, or for it, comes out.
absl::Status RaisingEmitter::EmitSide(RaisedScope& inner, const ChoicePiece& piece, int side) {
  std::vector<Member> within;
  HashMap<int, int> side_of;
  HashSet<Endpoint> wanted;
  for (const Member& member : piece.members) {
    side_of.emplace(member.unit, member.side);
    const Unit& unit = flow_.unit(member.unit);
    if (member.side == side) within.push_back(member);
    const bool is_join = member.side < 0;
    if (is_join && unit.sides[side].kind == Leaf::Kind::kValue)
      wanted.insert(unit.sides[side].value);
  }
  for (const Endpoint& value : piece.exports) {
    if (side_of.at(flow_.Maker(value)) == side) wanted.insert(value);
  }
  const ContextId here = contexts_.With(piece.around, {piece.symbol, side});
  GYRE_RETURN_IF_ERROR(EmitRegion(inner, here, within, wanted));
  for (const Endpoint& value : piece.exports) {
    const int maker = flow_.Maker(value);
    const Unit& unit = flow_.unit(maker);
    Leaf leaf;
    if (side_of.at(maker) < 0) {
      leaf = unit.sides[side];
    } else if (side_of.at(maker) == side) {
      leaf = {Leaf::Kind::kValue, value, 0};
    }
    if (leaf.kind == Leaf::Kind::kNone && unit.is_truth) leaf.kind = Leaf::Kind::kFalse;
    GYRE_ASSIGN_OR_RETURN(const Endpoint result, EmitLeaf(inner, leaf, value));
    inner.builder.Return(flow_.NameOf(value), result);
  }
  return absl::OkStatus();
}

// After the first Merge that comes out of it or, without one, the first node in it.
std::string RaisingEmitter::NameOf(const ChoicePiece& piece) const {
  const auto join = std::find_if(piece.members.begin(), piece.members.end(),
                                 [](const Member& member) { return member.side < 0; });
  const Member& first = join == piece.members.end() ? piece.members.front() : *join;
  const std::string& name = flow_.function().node(flow_.unit(first.unit).node).name;
  return first.side < 0 ? name : absl::StrCat(name, "/if");
}

// If, or Case where there are more than two sides:
//
//   x ─ Switch ─┬─true── f ─┐
//        p ┘    │           ├─ Merge ─►     becomes    %merge = If(%p, %x) then_branch=@f, …
//               └─false─ g ─┘
//
// A value of one side that is read outside comes out as a result, too; the other sides have
// something in its place that nobody reads.
absl::Status RaisingEmitter::EmitChoice(RaisedScope& scope, const ChoicePiece& piece) {
  const std::string name = NameOf(piece);
  const int outcomes = contexts_.outcomes(piece.symbol);
  std::vector<std::unique_ptr<RaisedScope>> sides;
  std::vector<RaisedScope*> scopes;
  std::vector<int> waits;
  std::vector<FunctionRef> branches;
  for (int side = 0; side < outcomes; ++side) {
    const std::string role = outcomes > 2 ? absl::StrCat("branch_", side)
                             : side == 1  ? "then"
                                          : "else";
    sides.push_back(Open(scope, absl::StrCat(name, "/", role)));
    RaisedScope& inner = *sides.back();
    GYRE_RETURN_IF_ERROR(EmitSide(inner, piece, side));
    scopes.push_back(&inner);
    branches.push_back({inner.builder.name(), nullptr});
    waits.insert(waits.end(), inner.waits.begin(), inner.waits.end());
  }
  std::vector<Endpoint> inputs;
  GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), FindPredicate(scope, flow_.Predicate(piece.symbol)));
  for (const Endpoint& value : ShareCaptures(scopes, 0)) {
    GYRE_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(scope, value));
  }
  AttrMap attrs;
  std::vector<DType> types;
  for (const Endpoint& value : piece.exports) types.push_back(flow_.TypeOf(value).dtype);
  attrs.Set("Tout", std::move(types));
  if (outcomes == 2) {
    attrs.Set("then_branch", branches[1]);
    attrs.Set("else_branch", branches[0]);
  } else {
    attrs.Set("branches", std::move(branches));
  }
  const auto any = [&](bool Unit::* what) {
    return std::any_of(piece.members.begin(), piece.members.end(),
                       [&](const Member& member) { return flow_.unit(member.unit).*what; });
  };
  FunctionBuilder::NodeOptions options;
  options.name = name;
  options.control_inputs = ControlsOf(scope, waits, inputs);
  const std::string op =
      absl::StrCat(any(&Unit::is_stateful) ? "" : "Stateless", outcomes == 2 ? "If" : "Case");
  GYRE_ASSIGN_OR_RETURN(const NodeId made,
                        scope.builder.Add(op, inputs, std::move(attrs), std::move(options)));
  for (size_t i = 0; i < piece.exports.size(); ++i)
    scope.values.insert_or_assign(piece.exports[i], Endpoint{made, static_cast<int>(i)});
  for (const Member& member : piece.members) scope.nodes.insert_or_assign(member.unit, made);
  if (any(&Unit::must_run)) scope.effects.push_back(made);
  for (const auto& side : sides) Close(*side);
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> RaisingEmitter::EmitLeaf(RaisedScope& scope, const Leaf& leaf,
                                                  Endpoint in_place_of) {
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
