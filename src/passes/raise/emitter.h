// RaisingEmitter: writes a Flow down as structured functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/hash_map.h"
#include "ir/builder.h"
#include "passes/raise/flow.h"

namespace gyre::raise {

// One function while it is written.
struct RaisedScope {
  RaisedScope(const OpLookup& ops, Function start, RaisedScope* around)
      : builder(ops, std::move(start)),
        parent(around),
        depth(around == nullptr ? 0 : around->depth + 1) {}

  FunctionBuilder builder;
  RaisedScope* parent = nullptr;
  int depth = 0;
  int loop = 0;  // whose condition or body it is: invariants have another name outside
  HashMap<Endpoint, Endpoint> values;  // what the Flow calls it → what it is here
  HashMap<int, NodeId> nodes;          // unit → the node that does it
  std::vector<Endpoint> captures;      // as the Flow calls them outside, in the order
  HashMap<Endpoint, Endpoint> args;    // … of these arguments
  std::vector<int> waits;              // units outside that something in here waits for
  std::vector<NodeId> effects;         // nodes that must run
};

// A unit and where it runs, told from inside the region that is written.
struct Member {
  int unit;
  ContextId context;
  int side = -1;  // of the choice that is written: which it runs on; -1: what joins them
};

// What is written as one If or Case.
struct ChoicePiece {
  ContextId around;
  SymbolId symbol;
  std::vector<Member> members;
  std::vector<Endpoint> exports;  // what is read of it outside, joins included
};

class RaisingEmitter {
 public:
  // New functions go to `functions`, under names that are not in `names` (with the last number that
  // was given to each). `is_scalar`: a value of
  // the Flow is known to be one.
  RaisingEmitter(Flow& flow, const OpLookup& ops, std::map<std::string, int>& names,
                 std::vector<Function>& functions, std::function<bool(Endpoint)> is_scalar)
      : flow_(flow),
        contexts_(flow.contexts()),
        ops_(ops),
        names_(names),
        functions_(functions),
        is_scalar_(std::move(is_scalar)) {}

  // The units of the frame `f` that nothing is chosen for, and all that they need, in `scope`.
  // `wanted`: values that are read afterwards.
  absl::Status EmitRegion(RaisedScope& scope, ContextId around, const std::vector<Member>& members,
                          const HashSet<Endpoint>& wanted);

  // What the value is called in `scope`: there already, or an argument that brings it in.
  absl::StatusOr<Endpoint> Find(RaisedScope& scope, Endpoint value);
  // A node that runs in `scope` as part of unit `unit`; -1, and `scope` notes that it waits, when
  // it runs outside.
  NodeId FindNode(RaisedScope& scope, int unit);

 private:
  friend class Region;

  absl::Status EmitUnit(RaisedScope& scope, int unit);
  absl::Status EmitNode(RaisedScope& scope, int id);
  absl::Status EmitLoop(RaisedScope& scope, int id);
  // branches.cc
  absl::Status EmitChoice(RaisedScope& scope, const ChoicePiece& piece);
  absl::Status EmitSide(RaisedScope& inner, const ChoicePiece& piece, int side);
  std::string NameOf(const ChoicePiece& piece) const;

  // loops.cc
  absl::StatusOr<std::vector<Member>> MembersOfLoop(int frame, ContextId around,
                                                    const std::vector<Endpoint>& wanted,
                                                    bool with_effects) const;

  absl::Status EmitExits(RaisedScope& scope, const RaisedLoop& loop, int frame, NodeId made,
                         const std::vector<const LoopVariable*>& variables);
  absl::StatusOr<Endpoint> FindPredicate(RaisedScope& scope, Endpoint value);
  absl::StatusOr<Endpoint> EmitLeaf(RaisedScope& scope, const Leaf& leaf, Endpoint in_place_of);

  std::unique_ptr<RaisedScope> Open(RaisedScope& parent, const std::string& name);
  // The functions of one node take the same arguments: what any of them brings in, behind the
  // `fixed` first ones. Returns it.
  std::vector<Endpoint> ShareCaptures(const std::vector<RaisedScope*>& scopes, size_t fixed);
  void Close(RaisedScope& scope);
  // The nodes that do `units`, for one that reads `inputs`: it waits for these anyway.
  std::vector<NodeId> ControlsOf(RaisedScope& scope, const std::vector<int>& units,
                                 const std::vector<Endpoint>& inputs);
  std::string UniqueName(const std::string& wanted);

  Flow& flow_;
  Contexts& contexts_;
  const OpLookup& ops_;
  std::map<std::string, int>& names_;
  std::vector<Function>& functions_;
  const std::function<bool(Endpoint)> is_scalar_;
};

}  // namespace gyre::raise
