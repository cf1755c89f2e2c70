#include "passes/trim.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/call_graph.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "passes/edit/body.h"
#include "passes/edit/interface.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;

// False if it was marked before.
bool Mark(std::vector<bool>& marks, int i) {
  if (marks[i]) return false;
  return marks[i] = true;
}

// What is needed of all functions, as a fixed point: starting from nothing, what is needed makes
// other things needed.
class Needs {
 public:
  Needs(const Staged& staged, const Effects& effects);

  struct Structured {
    int caller = 0;
    NodeId node = 0;
    std::vector<int> callees;   // in the order of CalleesOf
    std::vector<int> distinct;  // the same, each once
    // That some callee needs, and all have been asked for: by argument and by result of a callee.
    std::vector<bool> args, results;
  };
  // One function; number 0 is the main graph.
  struct Entry {
    std::string name;
    const Function* function = nullptr;
    BodyFacts body;        // empty if it is opaque
    bool is_kept = false;  // all arguments and results stay
    bool is_opaque = false;
    std::vector<bool> nodes, args, results;  // needed
    std::vector<bool> before;                // by node: asked for, as What::kBefore
    std::vector<std::vector<bool>> outputs;  // needed, by node
    std::vector<int> structured_of;          // by node: the structured node that it is; -1: none
    std::vector<int> called_from;            // structured nodes
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const Structured& structured(int i) const { return structured_nodes_[i]; }

  // Of a structured node: whether argument or output i is needed; the same for all of its
  // functions.
  bool NeedsInput(const Structured& structured, int input) const;
  bool NeedsOutput(const Structured& structured, int i) const;

 private:
  enum class What {
    kNode,
    kOutput,
    kArg,
    kResult,
    kBefore  // of a node that may go: the effects that it comes after
  };
  struct Need {
    What what;
    int entry;
    int index;
    int slot = 0;
  };

  void AddEntry(std::string name, const Function& function, const Effects& effects,
                const std::vector<Endpoint>& feeds);
  void FindStructuredNodes();
  void FindKept(const Program& program);
  void Start(const Staged& staged);
  void Ask(Need need) { work_.push_back(need); }
  void AskForAll(int entry);
  void Follow(const Need& need);
  void FollowNode(const Entry& entry, int number, NodeId id);
  void FollowOutput(const Entry& entry, Endpoint e);
  void FollowArg(int number, int arg);
  void FollowResult(int number, int result);
  void FollowBefore(const Entry& entry, int number, NodeId id);
  const Node& NodeOf(const Structured& structured) const {
    return entries_[structured.caller].function->node(structured.node);
  }
  bool Repeats(const Structured& structured) const { return IsLoop(NodeOf(structured).kind()); }

  const Program& program_;
  std::vector<Entry> entries_;
  HashMap<std::string, int> number_of_;
  std::vector<Structured> structured_nodes_;
  std::vector<Need> work_;
};

Needs::Needs(const Staged& staged, const Effects& effects) : program_(*staged.program) {
  AddEntry("", program_.main(), effects, staged.signature.feeds);
  for (const std::string& name : CalleesFirst(program_))
    AddEntry(name, *program_.FindFunction(name), effects, {});
  FindStructuredNodes();
  FindKept(program_);
  Start(staged);
  while (!work_.empty()) {
    SpendWork();
    const Need need = work_.back();
    work_.pop_back();
    Follow(need);
  }
}

void Needs::AddEntry(std::string name, const Function& function, const Effects& effects,
                     const std::vector<Endpoint>& feeds) {
  Entry entry;
  entry.name = std::move(name);
  entry.function = &function;
  entry.is_opaque = IsOpaque(function);
  if (!entry.is_opaque) entry.body = passes::ReadBody(function, effects, feeds);
  entry.nodes.resize(function.nodes.size());
  entry.before.resize(function.nodes.size());
  entry.args.resize(function.args.size());
  entry.results.resize(function.results.size());
  entry.outputs.resize(function.nodes.size());
  entry.structured_of.assign(function.nodes.size(), -1);
  for (const Node& node : function.nodes) entry.outputs[node.id].resize(node.num_outputs());
  number_of_.emplace(entry.name, static_cast<int>(entries_.size()));
  entries_.push_back(std::move(entry));
}

// The calls that may be changed.
void Needs::FindStructuredNodes() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.is_opaque) continue;
    for (const Node& node : entry.function->nodes) {
      if (!IsStructured(node.kind()) || entry.body.is_fixed[node.id] ||
          entry.body.effects[node.id].Has(EffectSet::kUnclear)) {
        continue;
      }
      Structured structured{.caller = static_cast<int>(i), .node = node.id};
      for (const Callee& callee : CalleesOf(program_, node))
        structured.callees.push_back(number_of_.at(callee.function.name));
      structured.distinct = structured.callees;
      std::sort(structured.distinct.begin(), structured.distinct.end());
      structured.distinct.erase(std::unique(structured.distinct.begin(), structured.distinct.end()),
                                structured.distinct.end());
      size_t num_args = 0, num_results = 0;
      for (const int callee : structured.distinct) {
        num_args = std::max(num_args, entries_[callee].args.size());
        num_results = std::max(num_results, entries_[callee].results.size());
      }
      structured.args.resize(num_args);
      structured.results.resize(num_results);
      entry.structured_of[node.id] = static_cast<int>(structured_nodes_.size());
      for (const int callee : structured.distinct)
        entries_[callee].called_from.push_back(entry.structured_of[node.id]);
      structured_nodes_.push_back(std::move(structured));
    }
  }
}

// Functions whose signature somebody else counts on.
void Needs::FindKept(const Program& program) {
  const auto keep = [&](absl::string_view name) {
    const auto it = number_of_.find(std::string(name));
    if (it != number_of_.end()) entries_[it->second].is_kept = true;
  };
  for (const auto& [name, gradient] : program.gradient_functions()) {
    keep(name);
    keep(gradient);
  }
  for (Entry& entry : entries_) {
    if (entry.is_opaque) entry.is_kept = true;
    for (const Node& node : entry.function->nodes) {
      const std::vector<std::string> names = NamedFunctions(node);
      const int structured = entry.structured_of[node.id];
      if (structured >= 0 && names.size() == structured_nodes_[structured].callees.size())
        continue;  // called, no more
      for (const std::string& name : names) keep(name);
    }
  }
}

void Needs::AskForAll(int number) {
  const Entry& entry = entries_[number];
  for (size_t i = 0; i < entry.args.size(); ++i) Ask({What::kArg, number, static_cast<int>(i)});
  for (size_t i = 0; i < entry.results.size(); ++i)
    Ask({What::kResult, number, static_cast<int>(i)});
}

void Needs::Start(const Staged& staged) {
  for (const Endpoint& e : staged.signature.fetches) Ask({What::kOutput, 0, e.node, e.slot});
  for (const NodeId target : staged.signature.targets) Ask({What::kNode, 0, target});
  for (const Endpoint& e : staged.signature.feeds) Ask({What::kNode, 0, e.node});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const int number = static_cast<int>(i);
    if (entry.is_kept) AskForAll(number);
    for (const auto& [name, id] : entry.function->control_results) Ask({What::kNode, number, id});
    for (const Node& node : entry.function->nodes) {
      if (entry.is_opaque) {
        Ask({What::kNode, number, node.id});
        continue;
      }
      const Effect effect = node.op == nullptr ? Effect::kNone : node.op->traits.effect;
      const bool always_runs = effect == Effect::kIo || effect == Effect::kWrite;
      if (i > 0 && always_runs && !entry.body.effects[node.id].MayDrop())
        Ask({What::kNode, number, node.id});
    }
  }
}

void Needs::Follow(const Need& need) {
  Entry& entry = entries_[need.entry];
  switch (need.what) {
    case What::kNode:
      if (!Mark(entry.nodes, need.index)) return;
      return FollowNode(entry, need.entry, need.index);
    case What::kOutput:
      Ask({What::kNode, need.entry, need.index});
      if (static_cast<size_t>(need.slot) >= entry.outputs[need.index].size()) return;
      if (!Mark(entry.outputs[need.index], need.slot)) return;
      return FollowOutput(entry, {need.index, need.slot});
    case What::kArg:
      if (!Mark(entry.args, need.index)) return;
      return FollowArg(need.entry, need.index);
    case What::kResult:
      if (!Mark(entry.results, need.index)) return;
      return FollowResult(need.entry, need.index);
    case What::kBefore:
      if (!Mark(entry.before, need.index)) return;
      return FollowBefore(entry, need.entry, need.index);
  }
}

void Needs::FollowNode(const Entry& entry, int number, NodeId id) {
  const Node& node = entry.function->node(id);
  for (const NodeId control : node.control_inputs) Ask({What::kNode, number, control});
  const int structured_number = entry.structured_of[id];
  if (structured_number < 0) {
    for (const Endpoint& e : node.inputs) Ask({What::kOutput, number, e.node, e.slot});
    if (node.kind() == OpKind::kArg && number > 0)
      Ask({What::kArg, number, static_cast<int>(node.attrs.GetOr<int64_t>("index", 0))});
    return;
  }
  const Structured& structured = structured_nodes_[structured_number];
  const bool waits = entry.body.effects[id].IsOrdered();
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const Endpoint e = node.inputs[i];
    if (NeedsInput(structured, i)) {
      Ask({What::kOutput, number, e.node, e.slot});
    } else if (waits) {
      Ask({What::kBefore, number, e.node});
    }
  }
  for (int i = 0; i < NumCounterArgs(node); ++i) Ask({What::kArg, structured.callees[0], i});
  if (KindOfCallee(node, 0) == CalleeKind::kCondition)
    Ask({What::kResult, structured.callees[0], 0});
}

void Needs::FollowOutput(const Entry& entry, Endpoint e) {
  const int structured_number = entry.structured_of[e.node];
  if (structured_number < 0) return;
  Ask({What::kResult, structured_nodes_[structured_number].callees.back(), e.slot});
}

// The other functions of the same calls take it, too.
void Needs::FollowArg(int number, int arg) {
  for (const int structured_number : entries_[number].called_from) {
    Structured& structured = structured_nodes_[structured_number];
    if (Mark(structured.args, arg)) {
      for (const int callee : structured.distinct) Ask({What::kArg, callee, arg});
    }
    const Node& node = NodeOf(structured);
    const int input = InputOfArg(node, arg);
    if (input < 0) continue;
    if (Repeats(structured))
      Ask({What::kResult, structured.callees.back(), arg - NumCounterArgs(node)});
    if (!entries_[structured.caller].nodes[structured.node]) continue;
    const Endpoint e = node.inputs[input];
    Ask({What::kOutput, structured.caller, e.node, e.slot});
  }
}

void Needs::FollowResult(int number, int result) {
  const Endpoint e = entries_[number].function->results[result].value;
  Ask({What::kOutput, number, e.node, e.slot});
  for (const int structured_number : entries_[number].called_from) {
    Structured& structured = structured_nodes_[structured_number];
    if (!Repeats(structured)) {
      if (!Mark(structured.results, result)) continue;
      for (const int callee : structured.distinct) Ask({What::kResult, callee, result});
    } else if (structured.callees.back() == number) {  // of the body; a condition's is no variable
      Ask({What::kArg, number, result + NumCounterArgs(NodeOf(structured))});
    }
  }
}

// A node with effects waits for all its inputs before it begins, for those, too, whose values
// nobody needs: what they come after has happened by then.
void Needs::FollowBefore(const Entry& entry, int number, NodeId id) {
  if (!entry.body.after_effects[id]) return;
  if (!entry.body.effects[id].MayDrop()) return Ask({What::kNode, number, id});
  const Node& node = entry.function->node(id);
  for (const Endpoint& e : node.inputs) Ask({What::kBefore, number, e.node});
  for (const NodeId control : node.control_inputs) Ask({What::kBefore, number, control});
}

bool Needs::NeedsInput(const Structured& structured, int input) const {
  const int arg = ArgOfInput(NodeOf(structured), input);
  return arg < 0 || entries_[structured.callees.back()].args[arg];
}

bool Needs::NeedsOutput(const Structured& structured, int i) const {
  return entries_[structured.callees.back()].results[i];
}

absl::Status TrimStructured(const Needs& needs, const Needs::Structured& structured,
                            const BodyFacts& body, Rewrite& rewrite) {
  const Node& node = rewrite.node(structured.node);
  const passes::StructuredInterface now = passes::InterfaceOf(node);
  passes::StructuredInterface wanted;
  for (size_t i = 0; i < now.args.size(); ++i) {
    if (!needs.NeedsInput(structured, static_cast<int>(i) + NumSelectorInputs(node))) continue;
    wanted.args.push_back(now.args[i]);
    wanted.arg_types.push_back(now.arg_types[i]);
  }
  for (size_t i = 0; i < now.output_types.size(); ++i) {
    if (!needs.NeedsOutput(structured, static_cast<int>(i))) continue;
    wanted.output_types.push_back(now.output_types[i]);
    wanted.outputs_from.push_back(static_cast<int>(i));
  }
  if (wanted.args.size() == now.args.size() &&
      wanted.output_types.size() == now.output_types.size()) {
    return absl::OkStatus();
  }
  // A node with effects waits for all its inputs before it begins.
  const bool waits = body.effects[structured.node].IsOrdered();
  return ReplaceStructured(structured.node, wanted,
                           waits ? body.after_effects : std::vector<bool>(), rewrite);
}

absl::Status TrimFunction(const Needs& needs, const Needs::Entry& entry, Rewrite& rewrite) {
  std::vector<NodeId> unneeded;
  bool has_unneeded_structured = false;  // which may not fit its functions any more
  for (const NodeId id : entry.body.order) {
    SpendWork();
    if (!entry.nodes[id]) {
      if (rewrite.node(id).kind() != OpKind::kArg) unneeded.push_back(id);
      has_unneeded_structured |= entry.structured_of[id] >= 0;
    } else if (entry.structured_of[id] >= 0) {
      GYRE_RETURN_IF_ERROR(
          TrimStructured(needs, needs.structured(entry.structured_of[id]), entry.body, rewrite));
    }
  }
  const bool is_whole = std::count(entry.args.begin(), entry.args.end(), false) == 0 &&
                        std::count(entry.results.begin(), entry.results.end(), false) == 0;
  if (!is_whole) KeepInterface(entry.args, entry.results, rewrite);
  // Where nothing else has changed, they are for `prune`.
  if (!rewrite.changed() && !has_unneeded_structured) return absl::OkStatus();
  for (const NodeId id : unneeded) rewrite.Drop(id);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Staged> TrimPass(const Staged& staged) {
  const Effects effects(*staged.program);
  const Needs needs(staged, effects);
  passes::StagedEdit edit(staged);
  for (const Needs::Entry& entry : needs.entries()) {
    if (entry.is_opaque) continue;
    Rewrite rewrite = edit.Change(entry.name);
    GYRE_RETURN_IF_ERROR(TrimFunction(needs, entry, rewrite));
    GYRE_RETURN_IF_ERROR(edit.Take(entry.name, std::move(rewrite)));
  }
  edit.EraseUnused();  // what calls them counts on signatures that were
  return std::move(edit).Finish();
}

}  // namespace gyre
