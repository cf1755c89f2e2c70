#include "lower/lower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/frames.h"
#include "lower/expander.h"

namespace gyre {
namespace lower {
namespace {

// From a function and what is asked of it to the lowered one, step by step.
class Driver {
 public:
  Driver(const Program& program, const Function& function, const RunSignature& signature,
         const LowerOptions& options)
      : program_(program),
        function_(function),
        signature_(signature),
        facts_(program),
        expander_(program, options, facts_),
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
      return absl::NotFoundError(absl::StrCat("node ", node.name, " needs the op ", node.op_name,
                                              ", which is not registered"));
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
      has_structure |= IsStructured(node);
      is_dataflow_ |= IsPrimitive(node);
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
      if (kept_[node.id] && !(is_dataflow_ && !needed_[node.id] && IsStructured(node))) continue;
      NodeState& state = body_.states[node.id];
      state.ready = true;
      if (node.op == nullptr || node.kind() == OpKind::kPlaceholder) {
        if (!state.outputs.empty()) {
          while (static_cast<int>(state.outputs.size()) <= feed.slot) {
            state.outputs.push_back(state.outputs[0]);
            state.outputs.back().e.slot = static_cast<int>(state.outputs.size()) - 1;
          }
          continue;
        }
        Node copy = node;
        copy.inputs.clear();
        copy.control_inputs.clear();
        const NodeId id = expander_.emitter().Add(std::move(copy), {&node, 0, false, 0});
        for (int slot = 0; slot <= feed.slot; ++slot)
          state.outputs.push_back({{id, slot}, 0, true, false});
        continue;
      }
      state.outputs.resize(node.num_outputs(), {{-1, 0}, 0, true, false});
      state.outputs[feed.slot].e = Placeholder(node, feed.slot, {});
    }
    return absl::OkStatus();
  }

  Endpoint Placeholder(const Node& node, int slot, std::vector<NodeId> controls) {
    AttrMap attrs;
    attrs.Set("dtype", node.signature.outputs[slot].dtype);
    return expander_.emitter().Plumb1({&node, 0}, "Placeholder",
                                      absl::StrCat(node.name, "/fed_", slot), {},
                                      std::move(controls), std::move(attrs));
  }

  absl::Status AddNodes() {
    const std::vector<NodeId> order = OrderNeeded(function_, kept_);
    if (order.size() != static_cast<size_t>(std::count(kept_.begin(), kept_.end(), true))) {
      return absl::InvalidArgumentError(
          "the graph has nodes that wait for each other and are no loop");
    }
    for (const NodeId id : order) {
      const Node& node = function_.node(id);
      if (IsStructured(node)) {
        AddStructured(node);
      } else {
        expander_.ExpandNode(body_, node);
      }
    }
    return absl::OkStatus();
  }

  void AddStructured(const Node& node) {
    NodeState& state = body_.states[node.id];
    if (needed_[node.id]) {
      expander_.ExpandNode(body_, node);
    } else {
      state.ready = true;
      for (int slot = 0; slot < node.num_outputs(); ++slot) {
        state.outputs.push_back({Placeholder(node, slot, {}), 0, true, false});
      }
      return;
    }
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      if (!fed_.contains(Endpoint{node.id, slot})) continue;
      // The control edge tells in which loop of primitives it stands.
      std::vector<NodeId> controls;
      if (is_dataflow_) controls.push_back(state.outputs[slot].e.node);
      state.outputs[slot] = {Placeholder(node, slot, std::move(controls)), 0, true, false};
    }
  }

  void CloseLoops() {
    for (const Expander::OpenInput& open : expander_.open_inputs()) {
      const NodeState& state = body_.states[open.source.node];
      expander_.emitter().SetInput(open.node, open.slot, state.outputs[open.source.slot].e);
    }
  }

  absl::StatusOr<Lowered> Finish() {
    Lowered lowered;
    for (const Endpoint& feed : signature_.feeds)
      lowered.signature.feeds.push_back(Translate(feed));
    for (const Endpoint& fetch : signature_.fetches)
      lowered.signature.fetches.push_back(Translate(fetch));
    for (const NodeId target : signature_.targets) {
      const NodeId done = expander_.DoneOf(body_, target);
      if (done >= 0) {
        lowered.signature.targets.push_back(done);
      } else if (body_.states[target].has_no_control) {
        lowered.signature.targets.push_back(body_.states[target].outputs[0].e.node);
      }
    }
    Function& result = lowered.function;
    result.name = function_.name;
    result.args = function_.args;
    result.attrs = function_.attrs;
    result.stateful = function_.stateful;
    result.doc = function_.doc;
    for (const FunctionResult& r : function_.results) {
      if (body_.states[r.value.node].ready)
        result.results.push_back({r.name, r.dtype, Translate(r.value)});
    }
    if (result.results.size() != function_.results.size()) result.results.clear();
    AddArguments(result);
    GYRE_RETURN_IF_ERROR(expander_.emitter().status());
    result.nodes = expander_.emitter().TakeNodes();
    lowered.origins = expander_.emitter().TakeOrigins();
    lowered.scopes = std::move(expander_.scopes());
    Prune(lowered);
    return lowered;
  }

  void AddArguments(Function& result) {
    for (const NodeId arg : function_.arg_nodes) {
      if (!body_.states[arg].ready) expander_.ExpandNode(body_, function_.node(arg));
      result.arg_nodes.push_back(body_.states[arg].done);
    }
  }

  Endpoint Translate(Endpoint e) {
    return expander_.Use(body_.states[e.node].outputs[e.slot], root_);
  }

  // Plumbing is drawn whole; what nobody uses of it goes.
  void Prune(Lowered& lowered) const {
    Function& function = lowered.function;
    RunSignature signature = lowered.signature;
    for (const Endpoint& feed : signature.feeds) signature.targets.push_back(feed.node);
    for (const FunctionResult& result : function.results) signature.fetches.push_back(result.value);
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
    for (NodeId& arg : function.arg_nodes) arg = new_id[arg];
    for (Endpoint& feed : lowered.signature.feeds) feed.node = new_id[feed.node];
    for (Endpoint& fetch : lowered.signature.fetches) fetch.node = new_id[fetch.node];
    for (NodeId& target : lowered.signature.targets) target = new_id[target];
  }

  const Program& program_;
  const Function& function_;
  const RunSignature& signature_;
  ProgramFacts facts_;
  Expander expander_;
  const std::vector<bool> needed_;
  std::vector<bool> kept_;  // needed_, and what tells where feeds stand
  const absl::flat_hash_set<Endpoint> fed_;
  Place root_;
  Body body_;
  bool is_dataflow_ = false;
  bool has_refs_ = false;
};

}  // namespace
}  // namespace lower

bool LoweredScope::is_loop() const {
  return site != nullptr && (site->kind() == OpKind::kWhile || site->kind() == OpKind::kFor);
}

absl::StatusOr<Lowered> Lower(const Program& program, const Function& function,
                              const RunSignature& signature, const LowerOptions& options) {
  return lower::Driver(program, function, signature, options).Run();
}

}  // namespace gyre
