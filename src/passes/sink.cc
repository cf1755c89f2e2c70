#include "passes/sink.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "passes/edit/body.h"
#include "passes/edit/structured_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;
using passes::StagedEdit;
using passes::StructuredEdit;

constexpr int kNobody = -1;
constexpr int kMany = -2;

// By argument of an If or Case: the only branch that uses it, kNobody or kMany.
std::vector<int> OnlyUsers(const StagedEdit& edit, const Node& structured) {
  std::vector<int> users(structured.inputs.size() - NumSelectorInputs(structured), kNobody);
  const std::vector<Callee> callees = CalleesOf(edit.program(), structured);
  for (size_t branch = 0; branch < callees.size(); ++branch) {
    const Function& function = *edit.Find(callees[branch].function.name);
    std::vector<bool> used(function.nodes.size());
    for (const Node& node : function.nodes) {
      for (const Endpoint& e : node.inputs) used[e.node] = true;
    }
    for (const FunctionResult& result : function.results) used[result.value.node] = true;
    for (size_t i = 0; i < users.size(); ++i) {
      if (!used[function.arg_nodes[i]]) continue;
      users[i] = users[i] == kNobody ? static_cast<int>(branch) : kMany;
    }
  }
  return users;
}

// Where a node of a function can go.
struct Place {
  NodeId structured = -1;
  int branch = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// All that can go, by node.
class Sinking {
 public:
  Sinking(const StagedEdit& edit, const Effects& effects, const passes::NameCounts& counts,
          const Rewrite& rewrite)
      : function_(rewrite.function()),
        body_(passes::ReadBody(function_, effects, rewrite.run().feeds)),
        places_(function_.nodes.size()),
        stays_(function_.nodes.size()),
        readers_(passes::Readers(function_)) {
    for (const Node& node : function_.nodes) {
      const bool is_branching = IsConditional(node.kind());
      if (is_branching && !body_.is_fixed[node.id] &&
          StructuredEdit::CanChange(edit, effects, counts, node)) {
        users_[node.id] = OnlyUsers(edit, node);
      }
    }
    FindWhatStays(rewrite.run());
    for (auto id = body_.order.rbegin(); id != body_.order.rend(); ++id)
      places_[*id] = PlaceOf(*id);
  }

  // What goes to a branch of a structured node, producers first.
  HashMap<NodeId, std::vector<std::vector<NodeId>>> Moves() const {
    HashMap<NodeId, std::vector<std::vector<NodeId>>> moves;
    for (const NodeId id : body_.order) {
      SpendWork();
      const Place& place = places_[id];
      if (place.structured < 0) continue;
      std::vector<std::vector<NodeId>>& branches = moves[place.structured];
      if (branches.size() <= static_cast<size_t>(place.branch)) branches.resize(place.branch + 1);
      branches[place.branch].push_back(id);
    }
    return moves;
  }
  const BodyFacts& body() const { return body_; }

 private:
  void FindWhatStays(const RunSignature& run) {
    for (const Node& node : function_.nodes) {
      for (const NodeId control : node.control_inputs) stays_[control] = true;
    }
    for (const FunctionResult& result : function_.results) stays_[result.value.node] = true;
    for (const auto& [name, id] : function_.control_results) stays_[id] = true;
    for (const Endpoint& fetch : run.fetches) stays_[fetch.node] = true;
    for (const NodeId target : run.targets) stays_[target] = true;
  }

  // Where all readers of a node are, or will be.
  Place PlaceOf(NodeId id) const {
    const Node& node = function_.node(id);
    const bool may_go =
        body_.IsPure(id) && IsPlain(node.kind()) && !stays_[id] && node.control_inputs.empty();
    Place place;
    if (!may_go) return place;
    for (const NodeId reader : readers_[id]) {
      const Place there = PlaceOfReader(id, reader);
      if (there.structured < 0 || (place.structured >= 0 && there != place)) return {};
      place = there;
    }
    return place;
  }

  Place PlaceOfReader(NodeId id, NodeId reader) const {
    const auto users = users_.find(reader);
    if (users == users_.end()) return places_[reader];
    const Node& structured = function_.node(reader);
    const int selectors = NumSelectorInputs(structured);
    int branch = kNobody;
    for (size_t i = 0; i < structured.inputs.size(); ++i) {
      if (structured.inputs[i].node != id) continue;
      const int user = static_cast<int>(i) < selectors ? kMany : users->second[i - selectors];
      if (user < 0 || (branch >= 0 && user != branch)) return {};
      branch = user;
    }
    return {reader, branch};
  }

  const Function& function_;
  const BodyFacts body_;
  std::vector<Place> places_;
  std::vector<bool> stays_;
  const std::vector<std::vector<NodeId>> readers_;
  HashMap<NodeId, std::vector<int>> users_;  // of structured nodes
};

// One If or Case while nodes move into its branches.
class Mover {
 public:
  Mover(StagedEdit& edit, passes::NameCounts& counts, NodeId structured, const BodyFacts& body,
        Rewrite& caller)
      : edit_(edit),
        structured_(caller.node(structured)),
        body_(body),
        caller_(caller),
        old_(passes::InterfaceOf(structured_)),
        structured_edit_(edit, counts, structured_) {}

  absl::Status Move(const std::vector<std::vector<NodeId>>& moves) {
    for (size_t branch = 0; branch < moves.size(); ++branch) {
      for (const NodeId id : moves[branch]) moved_to_[id] = static_cast<int>(branch);
    }
    LeaveOutArguments();
    for (size_t branch = 0; branch < moves.size(); ++branch) CopyIn(branch, moves[branch]);
    wanted_.output_types = old_.output_types;
    wanted_.outputs_from = old_.outputs_from;
    for (const auto& [id, branch] : moved_to_) caller_.Drop(id);
    return std::move(structured_edit_).Finish(wanted_, structured_.id, caller_);
  }

 private:
  void LeaveOutArguments() {
    std::vector<bool> stay;
    for (size_t i = 0; i < old_.args.size(); ++i) {
      stay.push_back(!moved_to_.contains(old_.args[i].node));
      if (!stay.back()) continue;
      position_of_.emplace(old_.args[i], wanted_.args.size());
      wanted_.args.push_back(old_.args[i]);
      wanted_.arg_types.push_back(old_.arg_types[i]);
    }
    for (Rewrite& function : structured_edit_.callees()) {
      old_args_.push_back(function.function().arg_nodes);
      KeepInterface(stay, std::vector<bool>(function.function().results.size(), true), function);
    }
  }

  // What comes in from outside of what moves: an argument that there is, or a new one.
  Endpoint Argument(size_t branch, Endpoint e) {
    const auto [it, is_new] = position_of_.emplace(e, wanted_.args.size());
    if (is_new) {
      const Node& node = caller_.node(e.node);
      const DType type = node.signature.outputs[e.slot].dtype;
      wanted_.args.push_back(e);
      wanted_.arg_types.push_back(type);
      for (Rewrite& function : structured_edit_.callees())
        AddArgument(node.name, type, edit_.ops(), function);
    }
    return {structured_edit_.callees()[branch].function().arg_nodes[it->second], 0};
  }

  void CopyIn(size_t branch, const std::vector<NodeId>& nodes) {
    Rewrite& function = structured_edit_.callees()[branch];
    HashMap<NodeId, NodeId> copies;
    // In front of the old body, behind its arguments.
    const NodeId before = old_args_[branch].empty() ? 0 : old_args_[branch].back() + 1;
    for (const NodeId id : nodes) {
      Node inside = caller_.node(id);
      for (Endpoint& e : inside.inputs) {
        const Node* const source = passes::MakerOf(caller_, body_, e);
        const bool is_constant = source != nullptr && ConstantValue(*source) != nullptr;
        if (is_constant && !copies.contains(e.node)) copies[e.node] = function.Add(*source, before);
        const auto copy = copies.find(e.node);
        e = copy == copies.end() ? Argument(branch, e) : Endpoint{copy->second, e.slot};
      }
      copies[id] = function.Add(std::move(inside), before);
    }
    for (size_t i = 0; i < old_.args.size(); ++i) {
      const auto copy = copies.find(old_.args[i].node);
      const auto moved = moved_to_.find(old_.args[i].node);
      if (moved == moved_to_.end() || moved->second != static_cast<int>(branch)) continue;
      function.Replace({old_args_[branch][i], 0}, {copy->second, old_.args[i].slot});
    }
  }

  StagedEdit& edit_;
  const Node structured_;
  const BodyFacts& body_;  // of the caller
  Rewrite& caller_;
  const passes::StructuredInterface old_;
  passes::StructuredInterface wanted_;
  StructuredEdit structured_edit_;
  HashMap<NodeId, int> moved_to_;              // branch
  HashMap<Endpoint, size_t> position_of_;      // in wanted_.args
  std::vector<std::vector<NodeId>> old_args_;  // by branch
};

}  // namespace

absl::StatusOr<Staged> SinkPass(const Staged& staged) {
  const Effects effects(*staged.program);
  StagedEdit edit(staged);
  passes::NameCounts counts = CountNames(edit);
  // Callers first: what has sunk into a branch may sink further.
  std::vector<std::string> names = edit.CalleesFirst();
  names.push_back("");
  std::reverse(names.begin(), names.end());
  for (const std::string& name : names) {
    Rewrite rewrite = edit.Change(name);
    if (IsOpaque(rewrite.function())) continue;
    const Sinking sinking(edit, effects, counts, rewrite);
    const auto moves = sinking.Moves();
    for (const NodeId id : sinking.body().order) {
      const auto it = moves.find(id);
      if (it == moves.end()) continue;
      GYRE_RETURN_IF_ERROR(Mover(edit, counts, id, sinking.body(), rewrite).Move(it->second));
    }
    GYRE_RETURN_IF_ERROR(edit.Take(name, std::move(rewrite)));
  }
  return std::move(edit).Finish();
}

}  // namespace gyre
