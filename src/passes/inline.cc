#include "passes/inline.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// Functions of at most so many nodes are inlined wherever they are called.
constexpr size_t kSmall = 32;
// Callers do not grow beyond this.
constexpr size_t kLargest = 100'000;

constexpr absl::string_view kOwnGradient = "_gradient_op_type";

bool IsMarked(const AttrMap& attrs) {
  return attrs.GetOr<bool>(kNoInlineAttr, false) || attrs.Has(kOwnGradient);
}

// One call on its way into its caller.
class Inlining {
 public:
  Inlining(const Function& callee, const Effects& effects, NodeId structured, Rewrite& caller)
      : callee_(callee),
        body_(passes::ReadBody(callee, effects)),
        structured_(caller.node(structured)),
        caller_(caller),
        copies_(callee.nodes.size(), -1),
        held_up_(callee.nodes.size()) {}

  absl::Status Run() {
    FindWhatRuns();
    GYRE_RETURN_IF_ERROR(AddEntry());
    for (const NodeId id : body_.order) {
      if (runs_[id]) Copy(callee_.node(id));
    }
    GYRE_RETURN_IF_ERROR(AddExit());
    return ReturnResults();
  }

 private:
  std::string Name(absl::string_view inner) const {
    return absl::StrCat(structured_.name, "/", inner);
  }

  // The nodes that a call runs, and those among them that it waits for whatever it returns.
  void FindWhatRuns() {
    RunSignature signature = CallSignature(callee_);
    std::erase_if(signature.targets, [&](NodeId id) {
      return IsStructured(callee_.node(id).kind()) && body_.effects[id].MayDrop();
    });
    for (const auto& [name, id] : callee_.control_results) signature.targets.push_back(id);
    runs_ = NeededNodes(callee_, signature);
    for (const NodeId id : body_.order) {
      if (runs_[id] && body_.effects[id].IsOrdered()) has_order_ = true;
    }
    std::vector<bool> awaited(callee_.nodes.size());
    for (const auto& [name, id] : callee_.control_results) awaited[id] = true;
    for (const NodeId id : body_.order) {
      if (runs_[id] && (awaited[id] || body_.effects[id].IsOrdered())) awaited_.push_back(id);
    }
  }

  // What has to be there before the body begins.
  absl::Status AddEntry() {
    std::vector<NodeId> waits = structured_.control_inputs;
    if (has_order_) {
      for (const Endpoint& e : structured_.inputs) waits.push_back(e.node);
    }
    std::erase_if(waits, [&](NodeId id) { return ConstantValue(caller_.node(id)) != nullptr; });
    GYRE_ASSIGN_OR_RETURN(entry_, Join("entry", std::move(waits)));
    return absl::OkStatus();
  }

  // One node that comes after all of these; -1 for none.
  absl::StatusOr<NodeId> Join(absl::string_view name, std::vector<NodeId> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (nodes.empty()) return -1;
    if (nodes.size() == 1) return nodes[0];
    return caller_.Add("NoOp", {}, {},
                       {.name = Name(name),
                        .control_inputs = std::move(nodes),
                        .like = &structured_,
                        .before = structured_.id});
  }

  Endpoint Outside(Endpoint inner) const {
    const Node& node = callee_.node(inner.node);
    if (node.kind() == OpKind::kArg)
      return structured_.inputs[node.attrs.GetOr<int64_t>("index", 0)];
    return {copies_[inner.node], inner.slot};
  }

  void Copy(const Node& inner) {
    if (inner.kind() == OpKind::kArg) return;
    Node node = inner;
    node.name = Name(inner.name);
    bool held_up = false;
    for (Endpoint& e : node.inputs) {
      held_up |= held_up_[e.node];
      e = Outside(e);
    }
    for (NodeId& control : node.control_inputs) {
      held_up |= held_up_[control];
      control = Outside({control, 0}).node;
    }
    const bool must_wait = has_order_ && structured_.control_inputs.empty()
                               ? body_.effects[inner.id].IsOrdered()
                               : ConstantValue(inner) == nullptr;
    if (entry_ >= 0 && must_wait && !held_up) {
      node.control_inputs.push_back(entry_);
      held_up = true;
    }
    held_up_[inner.id] = held_up;
    copies_[inner.id] = caller_.Add(std::move(node), structured_.id);
  }

  absl::Status AddExit() {
    std::vector<NodeId> nodes;
    for (const NodeId id : awaited_) nodes.push_back(Outside({id, 0}).node);
    if (!nodes.empty() && entry_ >= 0 && !structured_.control_inputs.empty())
      nodes.push_back(entry_);
    GYRE_ASSIGN_OR_RETURN(exit_, Join("exit", std::move(nodes)));
    return absl::OkStatus();
  }

  // Per node of the callee: whether it comes after all that is awaited. With more of that than bits
  // of a word, nobody knows.
  std::vector<bool> ComesLast() const {
    std::vector<bool> last(callee_.nodes.size());
    if (awaited_.size() > 64) return last;
    std::vector<uint64_t> after(callee_.nodes.size());
    uint64_t all = 0;
    for (const NodeId id : awaited_) {
      after[id] = all + 1;
      all |= after[id];
    }
    for (const NodeId id : body_.order) {
      const Node& node = callee_.node(id);
      for (const Endpoint& e : node.inputs) after[id] |= after[e.node];
      for (const NodeId control : node.control_inputs) after[id] |= after[control];
      last[id] = after[id] == all;
    }
    return last;
  }

  absl::Status ReturnResults() {
    const std::vector<bool> last = ComesLast();
    std::vector<NodeId> waits;
    if (exit_ >= 0) waits.push_back(exit_);
    for (size_t i = 0; i < callee_.results.size(); ++i) {
      const FunctionResult& result = callee_.results[i];
      Endpoint value = Outside(result.value);
      std::vector<NodeId> controls;
      if (has_order_ && !last[result.value.node]) controls.push_back(exit_);
      if (!structured_.control_inputs.empty() && !held_up_[result.value.node] && controls.empty())
        controls.push_back(entry_);
      std::erase(controls, -1);
      if (!controls.empty()) {
        GYRE_ASSIGN_OR_RETURN(const NodeId held, caller_.Add("Identity", {value}, {},
                                                             {.name = Name(result.name),
                                                              .control_inputs = controls,
                                                              .like = &structured_,
                                                              .before = structured_.id}));
        value = {held, 0};
      }
      caller_.Replace({structured_.id, static_cast<int>(i)}, value);
      waits.push_back(value.node);
    }
    if (waits.empty()) return caller_.Drop(structured_.id), absl::OkStatus();
    caller_.Drop(structured_.id, std::move(waits));
    return absl::OkStatus();
  }

  const Function& callee_;
  const BodyFacts body_;
  const Node structured_;  // a copy: the caller's nodes move as it grows
  Rewrite& caller_;
  std::vector<NodeId> copies_;  // by node of the callee
  std::vector<bool> held_up_;   // the copy comes after the entry
  std::vector<bool> runs_;
  bool has_order_ = false;       // the body has effects that come in an order
  std::vector<NodeId> awaited_;  // what the call is not over before
  NodeId entry_ = -1;
  NodeId exit_ = -1;
};

class Inliner {
 public:
  explicit Inliner(const Staged& staged)
      : program_(*staged.program),
        effects_(program_),
        edit_(staged),
        counts_(passes::CountNames(edit_)) {}

  absl::StatusOr<Staged> Run() && {
    // Callees first: what is inlined has had its own calls inlined.
    std::vector<std::string> names = edit_.CalleesFirst();
    names.push_back("");
    bool changed = false;
    for (const std::string& name : names) {
      Rewrite rewrite = edit_.Change(name);
      if (IsOpaque(rewrite.function())) continue;
      GYRE_RETURN_IF_ERROR(InlineCallsOf(rewrite));
      changed |= rewrite.changed();
      GYRE_RETURN_IF_ERROR(edit_.Take(name, std::move(rewrite)));
    }
    if (changed) edit_.EraseUnused();
    return std::move(edit_).Finish();
  }

 private:
  absl::Status InlineCallsOf(Rewrite& rewrite) {
    const BodyFacts body = passes::ReadBody(rewrite.function(), effects_, rewrite.run().feeds);
    for (const NodeId id : body.order) {
      SpendWork();
      const Node& node = rewrite.node(id);
      // A call by the function's name has an op that is not known; its inputs tell the rest.
      const bool is_fixed =
          node.op != nullptr
              ? body.is_fixed[id]
              : std::any_of(node.inputs.begin(), node.inputs.end(),
                            [&](const Endpoint& e) { return body.gives_reference[e.node]; });
      if (is_fixed || IsFed(id, rewrite.run())) continue;
      const Function* callee = CanInline(node, rewrite);
      if (callee == nullptr) continue;
      GYRE_RETURN_IF_ERROR(Inlining(*callee, effects_, id, rewrite).Run());
    }
    return absl::OkStatus();
  }

  static bool IsFed(NodeId id, const RunSignature& run) {
    return std::any_of(run.feeds.begin(), run.feeds.end(),
                       [&](const Endpoint& feed) { return feed.node == id; });
  }

  // The function that `node` calls, if it may stand in its place.
  const Function* CanInline(const Node& node, const Rewrite& rewrite) const {
    const bool is_call = node.kind() == OpKind::kCall || node.op == nullptr;
    if (!is_call || NumSelectorInputs(node) > 0 || IsMarked(node.attrs)) return nullptr;
    const std::vector<Callee> callees = CalleesOf(program_, node);
    if (callees.size() != 1) return nullptr;
    const std::string& name = callees[0].function.name;
    const Function* callee = edit_.Find(name);
    if (callee == nullptr || IsOpaque(*callee) || IsMarked(callee->attrs) ||
        effects_.IsRecursive(name) || program_.gradient_functions().contains(name) ||
        effects_.OfFunction(name).Has(EffectSet::kByName | EffectSet::kUnclear)) {
      return nullptr;
    }
    const bool is_small = callee->nodes.size() <= kSmall || counts_.at(name) == 1;
    const bool has_room = rewrite.function().nodes.size() + callee->nodes.size() <= kLargest;
    return is_small && has_room && Fits(node, *callee, rewrite) ? callee : nullptr;
  }

  static bool Fits(const Node& node, const Function& callee, const Rewrite& rewrite) {
    if (node.inputs.size() != callee.args.size()) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Endpoint e = node.inputs[i];
      const auto& outputs = rewrite.node(e.node).signature.outputs;
      if (static_cast<size_t>(e.slot) >= outputs.size() || outputs[e.slot].is_ref ||
          outputs[e.slot].dtype != callee.args[i].dtype) {
        return false;
      }
    }
    if (node.op == nullptr) return true;
    if (static_cast<size_t>(node.num_outputs()) != callee.results.size()) return false;
    for (size_t i = 0; i < callee.results.size(); ++i) {
      if (node.signature.outputs[i].dtype != callee.results[i].dtype) return false;
    }
    return true;
  }

  const Program& program_;
  const Effects effects_;
  StagedEdit edit_;
  const passes::NameCounts counts_;
};

}  // namespace

absl::StatusOr<Staged> InlinePass(const Staged& staged) { return Inliner(staged).Run(); }

}  // namespace gyre
