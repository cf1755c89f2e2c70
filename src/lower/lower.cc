#include "lower/lower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/order.h"
#include "analysis/refusals.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/frames.h"
#include "lower/expander.h"

namespace gyre {
namespace lower {
namespace {

// From a function and what is asked of it to the lowered one, step by step.
class Driver {
 public:
  Driver(ProgramFacts& facts, const Function& function, const RunSignature& signature,
         const LowerOptions& options)
      : program_(facts.program()),
        function_(function),
        signature_(signature),
        facts_(facts),
        expander_(facts, options),
        needed_(NeededNodes(function, signature)),
        fed_(signature.feeds.begin(), signature.feeds.end()) {}

  absl::StatusOr<Lowered> Run() {
    GYRE_RETURN_IF_ERROR(Check());
    Prepare();
    GYRE_RETURN_IF_ERROR(AddFeeds());
    GYRE_RETURN_IF_ERROR(AddNodes());
    CloseLoops();
    GYRE_RETURN_IF_ERROR(expander_.emitter().status());
    return Finish();
  }

 private:
  // What the reference engine refuses before it runs anything, in the same order.
  absl::Status Check() {
    GYRE_RETURN_IF_ERROR(AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed_}).status());
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id] || node.op != nullptr) continue;
      return UnregisteredOp(node);
    }
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) GYRE_RETURN_IF_ERROR(CheckCallees(program_, node));
    }
    return absl::OkStatus();
  }

  void Prepare() {
    body_.function = &function_;
    body_.place = &root_;
    root_.constants = &root_;
    body_.states.resize(function_.nodes.size());
    expander_.EnterFunction(function_);
    expander_.scopes()[0].function = &function_;
    bool has_structure = false;
    for (const Node& node : function_.nodes) {
      expander_.emitter().UniqueName(node.name);
      if (!needed_[node.id]) continue;
      has_structure |= IsStructured(node.kind());
      is_dataflow_ |= MovesDeadness(node);
      for (const NodeSignature::Slot& slot : node.signature.outputs) has_refs_ |= slot.is_ref;
      if (node.kind() == OpKind::kEnter) {
        expander_.ReserveFrameName(node.attrs.GetOr<std::string>("frame_name", ""));
      }
    }
    body_.fires_at_once = is_dataflow_ || has_refs_;
    for (const Endpoint& feed : signature_.feeds) expander_.SetFed(feed);
    if (&function_ == &program_.main() && has_structure) {
      facts_.InferMainShapes(signature_.feeds);
    }
    MarkKept();
  }

  // In a graph of primitives, the loop that a fed value stands in is told from what would have
  // computed it.
  void MarkKept() {
    kept_ = needed_;
    for (const NodeId arg : function_.arg_nodes) kept_[arg] = true;
    if (!is_dataflow_ || signature_.feeds.empty()) return;
    RunSignature all;
    for (const Endpoint& feed : signature_.feeds) all.targets.push_back(feed.node);
    const std::vector<bool> before = NeededNodes(function_, all);
    for (size_t i = 0; i < kept_.size(); ++i) kept_[i] = kept_[i] || before[i];
  }

  // A placeholder for what is fed but never computed.
  absl::Status AddFeeds() {
    for (const Endpoint& feed : signature_.feeds) {
      const Node& node = function_.node(feed.node);
      if (kept_[node.id]) continue;
      NodeState& state = body_.states[node.id];
      state.ready = true;
      if (node.kind() == OpKind::kPlaceholder) {
        if (state.done >= 0) continue;
        Node copy = node;
        copy.inputs.clear();
        copy.control_inputs.clear();
        const NodeId id = expander_.emitter().Add(std::move(copy), {&node, 0, false, 0});
        state.done = id;
        continue;
      }
      state.outputs.resize(std::max<size_t>({state.outputs.size(), node.signature.outputs.size(),
                                             static_cast<size_t>(feed.slot) + 1}),
                           {{-1, 0}, 0, true, false});
      state.outputs[feed.slot].e = Placeholder(node, feed.slot, {});
    }
    return absl::OkStatus();
  }

  // What an unknown op is fed with is what its readers want.
  DType FedType(Endpoint fed) const {
    const Node& source = function_.node(fed.node);
    if (source.op != nullptr) return source.signature.outputs[fed.slot].dtype;
    for (const Node& node : function_.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.op != nullptr && node.inputs[i] == fed) return node.signature.inputs[i].dtype;
      }
    }
    return DType::kFloat;  // nobody reads it
  }

  Endpoint Placeholder(const Node& node, int slot, std::vector<NodeId> controls) {
    AttrMap attrs;
    attrs.Set("dtype", FedType({node.id, slot}));
    return expander_.emitter().Plumb1({&node, 0}, "Placeholder",
                                      absl::StrCat(node.name, "/fed_", slot), {},
                                      std::move(controls), std::move(attrs));
  }

  absl::Status AddNodes() {
    const std::vector<NodeId> order = ProducersFirst(function_, kept_);
    if (order.size() != static_cast<size_t>(std::count(kept_.begin(), kept_.end(), true))) {
      return absl::InvalidArgumentError(
          "the graph has nodes that wait for each other and are no loop");
    }
    for (const NodeId id : order) {
      const Node& node = function_.node(id);
      if (IsStructured(node.kind())) {
        AddStructured(node);
      } else {
        expander_.ExpandNode(body_, node);
      }
    }
    return absl::OkStatus();
  }

  void AddStructured(const Node& node) {
    NodeState& state = body_.states[node.id];
    std::vector<NodeId> controls;
    if (needed_[node.id]) {
      expander_.ExpandNode(body_, node);
      if (is_dataflow_ && !state.outputs.empty()) controls = {state.outputs[0].e.node};
    } else {
      state.ready = true;
      state.outputs.resize(node.num_outputs());
      controls = OneInputOf(node);
    }
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      if (needed_[node.id] && !fed_.contains(Endpoint{node.id, slot})) continue;
      // The control edge tells in which loop of primitives it stands.
      state.outputs[slot] = {Placeholder(node, slot, controls), 0, true, false};
    }
  }

  // A node that lives in the frame of `node`; none if any frame will do.
  std::vector<NodeId> OneInputOf(const Node& node) {
    for (const Endpoint& input : node.inputs) {
      return {expander_.Read(body_, input).e.node};
    }
    for (const NodeId control : node.control_inputs) {
      const NodeId done = expander_.DoneOf(body_, control);
      if (done >= 0) return {done};
    }
    return {};
  }

  void CloseLoops() {
    for (const Expander::OpenInput& open : expander_.open_inputs()) {
      expander_.emitter().SetInput(open.node, open.slot, Translate(open.source));
    }
  }

  absl::StatusOr<Lowered> Finish() {
    Lowered lowered;
    TranslateSignature(lowered.signature);
    Function& result = lowered.function;
    result.name = function_.name;
    result.args = function_.args;
    result.attrs = function_.attrs;
    result.stateful = function_.stateful;
    result.doc = function_.doc;
    AddResults(result);
    AddArguments(result);
    GYRE_RETURN_IF_ERROR(expander_.emitter().status());
    result.nodes = expander_.emitter().TakeNodes();
    lowered.origins = expander_.emitter().TakeOrigins();
    lowered.scopes = std::move(expander_.scopes());
    for (const Node& node : result.nodes) {
      for (const Endpoint& input : node.inputs) {
        if (input.node < 0) return BugError(absl::StrCat("an input of ", node.name, " is open"));
      }
    }
    KeepUnused(lowered);
    Prune(lowered);
    return lowered;
  }

  void TranslateSignature(RunSignature& signature) {
    for (const Endpoint& feed : signature_.feeds) signature.feeds.push_back(Translate(feed));
    for (const Endpoint& fetch : signature_.fetches) signature.fetches.push_back(Translate(fetch));
    for (const NodeId target : signature_.targets) {
      const NodeId done = expander_.DoneOf(body_, target);
      // A structured node without results may have nothing to wait for but what is fed.
      const bool is_fed = done >= 0 && IsStructured(function_.node(target).kind()) &&
                          std::find(signature.feeds.begin(), signature.feeds.end(),
                                    Endpoint{done, 0}) != signature.feeds.end();
      if (is_fed) continue;
      if (done >= 0) {
        signature.targets.push_back(done);
      } else if (body_.states[target].has_no_control) {
        signature.targets.push_back(body_.states[target].outputs[0].e.node);
      }
    }
  }

  // As far as the signature asks for them.
  void AddResults(Function& result) {
    const auto is_there = [&](const FunctionResult& r) { return body_.states[r.value.node].ready; };
    if (std::all_of(function_.results.begin(), function_.results.end(), is_there)) {
      for (const FunctionResult& r : function_.results) {
        result.results.push_back({r.name, r.dtype, Translate(r.value)});
      }
    }
    for (const auto& [name, node] : function_.control_results) {
      const NodeId done = body_.states[node].ready ? expander_.DoneOf(body_, node) : -1;
      if (done >= 0) result.control_results.emplace_back(name, done);
    }
  }

  void AddArguments(Function& result) {
    for (const NodeId arg : function_.arg_nodes) {
      result.arg_nodes.push_back(body_.states[arg].done);
    }
  }

  Endpoint Translate(Endpoint e) { return expander_.Use(expander_.Read(body_, e), root_); }

  // What a function computes runs whether its caller uses it or not, and what is handed to a
  // function whether that uses it or not: it may fail. A placeholder that nobody uses need not be
  // fed.
  void KeepUnused(Lowered& lowered) const {
    const std::vector<bool> used = NeededNodes(lowered.function, lowered.signature);
    for (const Node& node : lowered.function.nodes) {
      const NodeOrigin& origin = lowered.origins[node.id];
      const bool computes = !origin.is_plumbing && node.kind() != OpKind::kConst &&
                            node.kind() != OpKind::kPlaceholder &&
                            (origin.scope > 0 || needed_[origin.node->id]);
      if (computes && !used[node.id]) lowered.signature.targets.push_back(node.id);
    }
  }

  // Plumbing is drawn whole; what nobody uses of it goes.
  void Prune(Lowered& lowered) const {
    Function& function = lowered.function;
    RunSignature signature = lowered.signature;
    for (const Endpoint& feed : signature.feeds) signature.targets.push_back(feed.node);
    for (const FunctionResult& result : function.results) signature.fetches.push_back(result.value);
    for (const auto& [name, node] : function.control_results) signature.targets.push_back(node);
    for (const NodeId arg : function.arg_nodes) signature.targets.push_back(arg);
    if (is_dataflow_) signature.feeds.clear();
    const std::vector<bool> keep = NeededNodes(function, signature);
    std::vector<NodeId> new_id(function.nodes.size(), -1);
    std::vector<Node> nodes;
    std::vector<NodeOrigin> origins;
    for (Node& node : function.nodes) {
      if (!keep[node.id]) continue;
      new_id[node.id] = static_cast<NodeId>(nodes.size());
      origins.push_back(lowered.origins[node.id]);
      nodes.push_back(std::move(node));
    }
    for (Node& node : nodes) {
      node.id = new_id[node.id];
      for (Endpoint& input : node.inputs) input.node = new_id[input.node];
      for (NodeId& control : node.control_inputs) control = new_id[control];
      std::erase(node.control_inputs, -1);
    }
    function.nodes = std::move(nodes);
    lowered.origins = std::move(origins);
    for (FunctionResult& result : function.results) result.value.node = new_id[result.value.node];
    for (auto& [name, node] : function.control_results) node = new_id[node];
    for (NodeId& arg : function.arg_nodes) arg = new_id[arg];
    for (Endpoint& feed : lowered.signature.feeds) feed.node = new_id[feed.node];
    for (Endpoint& fetch : lowered.signature.fetches) fetch.node = new_id[fetch.node];
    for (NodeId& target : lowered.signature.targets) target = new_id[target];
  }

  const Program& program_;
  const Function& function_;
  const RunSignature& signature_;
  ProgramFacts& facts_;
  Expander expander_;
  const std::vector<bool> needed_;
  std::vector<bool> kept_;  // needed_, and what tells where feeds stand
  const HashSet<Endpoint> fed_;
  Place root_;
  ExpandedBody body_;
  bool is_dataflow_ = false;
  bool has_refs_ = false;
};

}  // namespace
}  // namespace lower

bool LoweredScope::is_loop() const { return structured != nullptr && IsLoop(structured->kind()); }

absl::StatusOr<Lowered> Lower(const Program& program, const Function& function,
                              const RunSignature& signature, const LowerOptions& options) {
  lower::ProgramFacts facts(program);
  return Lower(facts, function, signature, options);
}

absl::StatusOr<Lowered> Lower(lower::ProgramFacts& facts, const Function& function,
                              const RunSignature& signature, const LowerOptions& options) {
  return RunStage("lowering",
                  [&] { return lower::Driver(facts, function, signature, options).Run(); });
}

}  // namespace gyre
