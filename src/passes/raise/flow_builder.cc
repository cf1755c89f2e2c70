// Frames, the order in which nodes are looked at, and in which context each runs.
#include "passes/raise/flow_builder.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace gyre::raise {
namespace {

// A Merge of more paths than this is not looked through.
constexpr size_t kMaxExpanded = 256;

}  // namespace

absl::StatusOr<Flow> FlowBuilder::Build() {
  flow_.fed_ = fed_;
  needed_ = NeededNodes(function_, signature_);
  GYRE_ASSIGN_OR_RETURN(flow_.frames_, AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed_}));
  const size_t n = function_.nodes.size();
  flow_.unit_of_node_.assign(n, -1);
  flow_.frame_of_.assign(n, 0);
  flow_.context_of_.assign(n, kNever);
  flow_.sides_.resize(n);
  flow_.values_.resize(n);
  flow_.loops_.resize(flow_.frames_.frames.size());
  waits_for_.resize(n);
  waits_known_.assign(n, false);
  GYRE_RETURN_IF_ERROR(CheckOutputs());
  FindLoops();
  FindLoopConditions();
  GYRE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, Order());
  for (const NodeId id : order) GYRE_RETURN_IF_ERROR(Visit(function_.node(id)));
  GYRE_RETURN_IF_ERROR(FinishLoops());
  GYRE_RETURN_IF_ERROR(MarkLive());
  flow_.units_of_frame_.resize(flow_.loops_.size());
  for (size_t i = 0; i < flow_.units_.size(); ++i) {
    if (flow_.units_[i].is_live)
      flow_.units_of_frame_[flow_.units_[i].frame].push_back(static_cast<int>(i));
  }
  return std::move(flow_);
}

absl::Status FlowBuilder::Refuse(const Node& node, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("node ", node.name, " (", node.op_name, ") ", why));
}

// Of an unknown op nobody knows how many outputs it has.
absl::Status FlowBuilder::CheckOutputs() const {
  const auto check = [&](Endpoint e) -> absl::Status {
    const Node& source = function_.node(e.node);
    if (IsFed(e) || e.slot < source.num_outputs()) return absl::OkStatus();
    return Refuse(source, "is asked for an output that it is not known to have");
  };
  for (const Endpoint& fetch : signature_.fetches) GYRE_RETURN_IF_ERROR(check(fetch));
  for (const Node& node : function_.nodes) {
    if (!IsNeeded(node.id)) continue;
    for (const Endpoint& e : node.inputs) GYRE_RETURN_IF_ERROR(check(e));
  }
  return absl::OkStatus();
}

// Frames that are no loops belong to what is around them.
int FlowBuilder::Effective(int frame) const {
  while (frame > 0 && !is_loop_[frame]) frame = flow_.frames_.frames[frame].parent;
  return frame;
}

void FlowBuilder::FindLoops() {
  is_loop_.assign(flow_.frames_.frames.size(), false);
  for (size_t f = 1; f < is_loop_.size(); ++f)
    is_loop_[f] = !flow_.frames_.frames[f].next_iterations.empty();
  touches_.assign(is_loop_.size(), false);
  for (const Node& node : function_.nodes) {
    flow_.frame_of_[node.id] = Effective(flow_.frames_.output_frame_of_node[node.id]);
    if (!IsNeeded(node.id) || (node.op != nullptr && !node.op->stateful())) continue;
    for (int f = flow_.frame_of_[node.id]; f > 0; f = flow_.frames_.frames[f].parent)
      touches_[f] = true;
  }
}

// The value that a predicate comes from, past what only hands it on.
Endpoint FlowBuilder::Root(Endpoint e) const {
  while (!IsFed(e)) {
    const Node& node = function_.node(e.node);
    const bool hands_on = node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN ||
                          node.kind() == OpKind::kLoopCond || node.kind() == OpKind::kIdentity ||
                          (node.kind() == OpKind::kEnter && IsConstant(node));
    if (!hands_on || node.signature.inputs[0].is_ref) return e;
    e = node.inputs[0];
  }
  return e;
}

void FlowBuilder::FindLoopConditions() {
  for (const Node& node : function_.nodes) {
    if (IsNeeded(node.id) && node.kind() == OpKind::kLoopCond && !IsFed({node.id, 0}))
      loop_roots_.insert(Root(node.inputs[0]));
  }
}

// Producers first, the back edges of loops left out; all Enters of a frame before what runs in
// it.
absl::StatusOr<std::vector<NodeId>> FlowBuilder::Order() const {
  const auto n = static_cast<NodeId>(function_.nodes.size());
  // Behind the nodes, one gate for each frame: it waits for the Enters, all in the frame for it.
  std::vector<int> waiting(n + flow_.frames_.frames.size(), 0);
  std::vector<std::vector<NodeId>> readers(waiting.size());
  const auto add = [&](NodeId from, NodeId to) {
    readers[from].push_back(to);
    ++waiting[to];
  };
  for (const Node& node : function_.nodes) {
    if (!IsNeeded(node.id)) continue;
    for (const Endpoint& e : node.inputs) {
      if (!IsFed(e) && !IsBackEdge(function_.node(e.node), node)) add(e.node, node.id);
    }
    for (const NodeId control : node.control_inputs) {
      if (IsNeeded(control)) add(control, node.id);
    }
    if (node.kind() == OpKind::kEnter)
      add(node.id, n + flow_.frames_.output_frame_of_node[node.id]);
    const int frame = flow_.frames_.frame_of_node[node.id];
    if (frame > 0) add(n + frame, node.id);
  }
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < static_cast<NodeId>(waiting.size()); ++id) {
    if (waiting[id] == 0 && (id >= n || IsNeeded(id))) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    if (id < n) order.push_back(id);
    for (const NodeId reader : readers[id]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (const Node& node : function_.nodes) {
    if (waiting[node.id] > 0) return Refuse(node, "waits for itself");
  }
  return order;
}

absl::Status FlowBuilder::Visit(const Node& node) {
  GYRE_ASSIGN_OR_RETURN(const ContextId context, ContextOfNode(node));
  flow_.context_of_[node.id] = context;
  if (context == kNever) return absl::OkStatus();
  if (flow_.contexts_.depth(context) > kMaxDepth)
    return Refuse(node, absl::StrCat("stands in more than ", kMaxDepth, " branches"));
  switch (node.kind()) {
    case OpKind::kSwitch:
    case OpKind::kSwitchN:
      return VisitSwitch(node);
    case OpKind::kMerge:
      return IsLoopMerge(node) ? VisitVariable(node) : VisitMerge(node);
    case OpKind::kEnter:
      return VisitEnter(node);
    case OpKind::kExit:
      return VisitExit(node);
    case OpKind::kNextIteration:
      return VisitNextIteration(node);
    case OpKind::kLoopCond:
      return HandOn(node, 0);
    case OpKind::kControlTrigger:
    case OpKind::kArg:
      return absl::OkStatus();
    default:
      return VisitPlain(node);
  }
}

// Where the node runs: where all that it waits for is alive. (A Merge needs but one, a
// ControlTrigger none.)
absl::StatusOr<ContextId> FlowBuilder::ContextOfNode(const Node& node) {
  if (node.kind() == OpKind::kControlTrigger) return kAlways;
  if (node.kind() == OpKind::kMerge) {
    if (IsLoopMerge(node)) return kAlways;
    std::vector<ContextId> any;
    for (const Endpoint& e : node.inputs) any.push_back(Alive(e));
    return AnyOf(node, std::move(any));
  }
  ContextId context = kAlways;
  for (const Endpoint& e : node.inputs) context = flow_.contexts_.And(context, Alive(e));
  for (const NodeId control : node.control_inputs) {
    if (!IsFed({control, 0}) || function_.node(control).kind() != OpKind::kPlaceholder)
      context = flow_.contexts_.And(context, flow_.context_of_[control]);
  }
  return context;
}

// Where any of `contexts` holds. What is no context is a choice of its own, by a boolean that
// says whether one of them holds.
ContextId FlowBuilder::AnyOf(const Node& node, std::vector<ContextId> contexts) {
  std::erase(contexts, kNever);
  if (const auto simple = flow_.contexts_.Or(contexts)) return *simple;
  if (const auto simple = flow_.contexts_.Or(Expanded(contexts))) return *simple;
  std::vector<std::pair<ContextId, Leaf>> leaves;
  for (const ContextId c : contexts) leaves.push_back({c, {Leaf::Kind::kTrue, {}, 0}});
  const ContextId around = flow_.contexts_.Common(contexts);
  if (std::find(contexts.begin(), contexts.end(), around) != contexts.end()) return around;
  const SymbolId symbol = flow_.contexts_.AddSymbol(2, false);
  flow_.predicates_.push_back(
      Join(node, around, leaves, {.is_truth = true, .is_complete = false}).value);
  symbol_frames_.push_back(flow_.frame_of_[node.id]);
  any_of_.emplace(symbol, std::move(contexts));
  return flow_.contexts_.With(around, {symbol, 1});
}

// The same contexts, without choices that AnyOf has made up.
std::vector<ContextId> FlowBuilder::Expanded(const std::vector<ContextId>& contexts) {
  std::vector<ContextId> expanded;
  std::vector<ContextId> work = contexts;
  while (!work.empty() && expanded.size() + work.size() <= kMaxExpanded) {
    const ContextId c = work.back();
    work.pop_back();
    const std::vector<Choice> choices = flow_.contexts_.Choices(c);
    const auto made_up = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
      return any_of_.contains(choice.symbol);
    });
    if (made_up == choices.end()) {
      expanded.push_back(c);
      continue;
    }
    const ContextId rest = flow_.contexts_.Without(c, made_up->symbol);
    for (const ContextId one : any_of_.at(made_up->symbol))
      work.push_back(flow_.contexts_.And(rest, one));
  }
  return work.empty() ? expanded : contexts;
}

absl::StatusOr<Flow> Flow::Make(const Function& function, const RunSignature& signature) {
  return FlowBuilder(function, signature).Build();
}

}  // namespace gyre::raise
