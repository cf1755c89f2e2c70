#include "exec/reference/plan.h"

#include <algorithm>

#include "analysis/refusals.h"
#include "base/hash_map.h"
#include "base/work.h"
#include "ir/calls.h"

namespace gyre::reference {
namespace {

// The nodes of one frame from which its LoopCond can be reached.
HashSet<NodeId> FeedsLoopCond(const FunctionPlan& plan, const FramePlan& frame) {
  HashSet<NodeId> seen;
  std::vector<NodeId> work;
  const auto visit = [&](NodeId id) {
    const NodePlan& p = plan.nodes[id];
    if (p.node == nullptr || p.frame != plan.nodes[frame.frame.loop_cond].frame) return;
    if (p.kind == OpKind::kNextIteration) return;  // decides about another iteration
    if (seen.insert(id).second) work.push_back(id);
  };
  visit(frame.frame.loop_cond);
  while (!work.empty()) {
    const Node& node = *plan.nodes[work.back()].node;
    work.pop_back();
    for (const Endpoint& input : node.inputs) visit(input.node);
    for (const NodeId control : node.control_inputs) visit(control);
  }
  return seen;
}

// Fills in one function's plan, step by step.
class Builder {
 public:
  Builder(const Function& function, const RunSignature& signature, FunctionPlan& plan)
      : function_(function),
        signature_(signature),
        plan_(plan),
        needed_(NeededNodes(function, signature)) {
    for (size_t i = 0; i < signature.feeds.size(); ++i)
      feed_of_.emplace(signature.feeds[i], static_cast<int>(i));
  }

  absl::Status Build() {
    plan_.function = &function_;
    plan_.num_results = static_cast<int>(signature_.fetches.size());
    HashSet<Endpoint> fed(signature_.feeds.begin(), signature_.feeds.end());
    GYRE_ASSIGN_OR_RETURN(const FrameTable table,
                          AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed}));
    MakeFrames(table);
    plan_.nodes.resize(function_.nodes.size());
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) GYRE_RETURN_IF_ERROR(AddNode(node, table));
    }
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) AddEdges(node);
    }
    GYRE_RETURN_IF_ERROR(AddFetches(table));
    FindRoots();
    return absl::OkStatus();
  }

 private:
  void MakeFrames(const FrameTable& table) {
    plan_.frames.resize(table.frames.size());
    for (size_t f = 0; f < table.frames.size(); ++f) {
      FramePlan& frame = plan_.frames[f];
      frame.frame = table.frames[f];
      frame.num_enters = static_cast<int>(frame.frame.enters.size());
      if (f > 0) frame.child_index = plan_.frames[frame.frame.parent].num_children++;
    }
  }

  absl::Status AddNode(const Node& node, const FrameTable& table) {
    if (node.op == nullptr) return UnregisteredOp(node);
    SpendWork();
    SpendWorkMemory(sizeof(NodePlan));
    NodePlan& p = plan_.nodes[node.id];
    p.node = &node;
    p.kind = node.kind();
    p.frame = table.frame_of_node[node.id];
    p.out_frame = table.output_frame_of_node[node.id];
    p.is_constant = p.kind == OpKind::kEnter && NodeAttr<bool>(node, "is_constant");
    p.num_inputs = static_cast<int>(node.inputs.size());
    p.data_out.resize(node.num_outputs());
    FramePlan& frame = plan_.frames[p.frame];
    p.index = static_cast<int>(frame.nodes.size());
    p.first_input = frame.num_inputs;
    frame.nodes.push_back(node.id);
    frame.num_inputs += p.num_inputs;
    if (Ops().HasKernel(node.op_name)) {
      absl::StatusOr<Kernel> kernel = Ops().MakeKernel(node);
      if (kernel.ok()) {
        p.kernel = *std::move(kernel);
      } else {
        p.no_kernel = kernel.status();
      }
    }
    return absl::OkStatus();
  }

  void AddEdges(const Node& node) {
    NodePlan& p = plan_.nodes[node.id];
    for (int slot = 0; slot < p.num_inputs; ++slot) {
      const Endpoint input = node.inputs[slot];
      if (const auto feed = feed_of_.find(input); feed != feed_of_.end()) {
        plan_.frames[p.frame].fed.push_back({feed->second, node.id, slot});
        continue;
      }
      plan_.nodes[input.node].data_out[input.slot].push_back({node.id, slot});
      ++p.pending;
      if (plan_.nodes[input.node].kind != OpKind::kNextIteration) ++p.dead_to_die;
    }
    for (const NodeId control : node.control_inputs) {
      if (plan_.nodes[control].node == nullptr) continue;  // a fed placeholder
      plan_.nodes[control].control_out.push_back(node.id);
      ++p.pending;
      ++p.controls;
    }
  }

  absl::Status AddFetches(const FrameTable& table) {
    for (size_t i = 0; i < signature_.fetches.size(); ++i) {
      const Endpoint fetch = signature_.fetches[i];
      if (const auto feed = feed_of_.find(fetch); feed != feed_of_.end()) {
        plan_.fed_results.emplace_back(feed->second, static_cast<int>(i));
        continue;
      }
      const int frame = table.output_frame_of_node[fetch.node];
      if (frame != 0) return FetchInLoop(function_.EndpointName(fetch), table.frames[frame].name);
      plan_.nodes[fetch.node].fetched.emplace_back(fetch.slot, static_cast<int>(i));
    }
    return absl::OkStatus();
  }

  void FindRoots() {
    for (FramePlan& frame : plan_.frames) {
      const bool in_loop = &frame != &plan_.frames[0] && frame.frame.loop_cond >= 0;
      const auto decides = in_loop ? FeedsLoopCond(plan_, frame) : HashSet<NodeId>();
      for (const NodeId id : frame.nodes) {
        if (plan_.nodes[id].pending > 0) continue;
        (in_loop && !decides.contains(id) ? frame.gated_roots : frame.roots).push_back(id);
      }
      for (const NodeId id : frame.nodes) {
        const NodePlan& p = plan_.nodes[id];
        frame.initial.push_back({.pending = p.kind == OpKind::kMerge ? p.controls : p.pending});
      }
    }
  }

  const Function& function_;
  const RunSignature& signature_;
  FunctionPlan& plan_;
  const std::vector<bool> needed_;
  HashMap<Endpoint, int> feed_of_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReferencePlan>> ReferencePlan::Make(
    std::shared_ptr<const Program> program, const RunSignature& signature) {
  return RunStage("planning", [&]() -> absl::StatusOr<std::unique_ptr<ReferencePlan>> {
    std::unique_ptr<ReferencePlan> plan(new ReferencePlan);
    plan->program_ = std::move(program);
    GYRE_RETURN_IF_ERROR(plan->BuildAll(signature));
    return plan;
  });
}

absl::Status ReferencePlan::BuildAll(const RunSignature& signature) {
  FunctionPlan& main = plans_.emplace_back();
  main_ = &main;
  GYRE_RETURN_IF_ERROR(Build(program_->main(), signature, main));
  while (!to_build_.empty()) {
    FunctionPlan* plan = to_build_.front();
    to_build_.pop_front();
    const Function& function = *plan->function;
    plan->error = Build(function, CallSignature(function), *plan);
  }
  return absl::OkStatus();
}

absl::Status ReferencePlan::Build(const Function& function, const RunSignature& signature,
                                  FunctionPlan& plan) {
  GYRE_RETURN_IF_ERROR(Builder(function, signature, plan).Build());
  for (NodePlan& node_plan : plan.nodes) {
    if (node_plan.node != nullptr) GYRE_RETURN_IF_ERROR(BindCallees(node_plan));
  }
  return absl::OkStatus();
}

absl::Status ReferencePlan::BindCallees(NodePlan& node_plan) {
  const Node& node = *node_plan.node;
  GYRE_RETURN_IF_ERROR(CheckCallees(*program_, node));
  for (const Callee& callee : CalleesOf(*program_, node))
    node_plan.callees.push_back(PlanOf(*program_->FindFunction(callee.function.name)));
  return absl::OkStatus();
}

const FunctionPlan* ReferencePlan::PlanOf(const Function& function) {
  if (const auto it = by_name_.find(function.name); it != by_name_.end()) return it->second;
  FunctionPlan& plan = plans_.emplace_back();
  plan.function = &function;
  by_name_.emplace(function.name, &plan);
  to_build_.push_back(&plan);
  return &plan;
}

}  // namespace gyre::reference
