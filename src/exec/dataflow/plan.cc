#include "exec/dataflow/plan.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "analysis/refusals.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "exec/dataflow/counts.h"
#include "exec/sequential/native.h"
#include "ir/calls.h"
#include "lower/facts.h"
#include "ops/registry.h"

namespace gyre::dataflow {
namespace {

// Exits that an iteration has a bit for.
constexpr uint32_t kExitBits = 64;

Opcode OpcodeOf(OpKind kind) {
  switch (kind) {
    case OpKind::kSwitch:
      return Opcode::kSwitch;
    case OpKind::kSwitchN:
      return Opcode::kSwitchN;
    case OpKind::kMerge:
      return Opcode::kMerge;
    case OpKind::kEnter:
      return Opcode::kEnter;
    case OpKind::kExit:
      return Opcode::kExit;
    case OpKind::kNextIteration:
      return Opcode::kNextIteration;
    case OpKind::kLoopCond:
      return Opcode::kLoopCond;
    case OpKind::kCall:
      return Opcode::kCall;
    case OpKind::kArg:
      return Opcode::kArg;
    case OpKind::kRetval:
      return Opcode::kRetval;
    case OpKind::kControlTrigger:
      return Opcode::kNoOp;
    case OpKind::kConst:
      return Opcode::kConst;
    case OpKind::kNoOp:
      return Opcode::kNoOp;
    case OpKind::kToBool:
      return Opcode::kToBool;
    case OpKind::kIdentity:
      return Opcode::kIdentity;
    case OpKind::kPlain:
    case OpKind::kPlaceholder:
    case OpKind::kTransfer:
      return Opcode::kKernel;
    default:  // what lowering writes out
      return Opcode::kUnavailable;
  }
}

// Fills in one function's plan, step by step.
class Builder {
 public:
  Builder(FunctionPlan& plan, const KeptLoops& loops, const KernelFactory& kernels, int& num_pools)
      : plan_(plan),
        loops_(loops),
        kernels_(kernels),
        function_(plan.lowered.function),
        signature_(plan.lowered.signature),
        num_pools_(num_pools),
        needed_(NeededNodes(function_, signature_)) {
    for (size_t i = 0; i < signature_.feeds.size(); ++i)
      feed_of_.emplace(signature_.feeds[i], static_cast<int>(i));
  }

  absl::Status Build() {
    plan_.num_results = static_cast<int>(signature_.fetches.size());
    HashSet<Endpoint> fed(signature_.feeds.begin(), signature_.feeds.end());
    GYRE_ASSIGN_OR_RETURN(table_, AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed}));
    const size_t size = function_.nodes.size();
    plan_.nodes = std::vector<PlanNode>(size);
    plan_.infos.resize(size);
    MakeFrames();
    waits_.resize(size);
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) GYRE_RETURN_IF_ERROR(AddNode(node));
    }
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) GYRE_RETURN_IF_ERROR(CountArrivals(node));
    }
    FindThroughways();
    FindCarriersOfDeath();
    CollectEdges();
    GYRE_RETURN_IF_ERROR(AddFetches());
    FindRoots();
    FindResidents();
    return absl::OkStatus();
  }

 private:
  // What a node waits for.
  struct Waits {
    uint64_t data = 0;
    uint64_t control = 0;
    uint64_t deaths = 0;  // of a Merge: dead inputs that kill it; NextIterations don't count
    CountIndex count{0};
    bool is_counted = false;  // an ordinary node that has such a word
    uint64_t all() const { return data + control; }
  };

  static NodeIndex IndexOf(NodeId id) { return NodeIndex(static_cast<uint32_t>(id)); }
  FramePlan& FrameOf(NodeId id) const { return plan_.frames[plan_.infos[id].frame.value()]; }

  void MakeFrames() {
    for (size_t f = 0; f < table_.frames.size(); ++f) {
      FramePlan& frame = plan_.frames.emplace_back();
      frame.frame = table_.frames[f];
      frame.index = FrameIndex(static_cast<uint32_t>(f));
      frame.num_enters = static_cast<int>(frame.frame.enters.size());
      frame.pool = num_pools_++;
      if (f > 0) frame.child_index = plan_.frames[frame.frame.parent].num_children++;
      for (size_t i = 0; i < frame.frame.exits.size(); ++i)
        plan_.nodes[frame.frame.exits[i]].exit = ExitIndex(static_cast<uint32_t>(i));
    }
  }

  absl::Status AddNode(const Node& node) {
    if (node.op == nullptr) return UnregisteredOp(node);
    SpendWork();
    SpendWorkMemory(sizeof(PlanNode) + sizeof(NodeInfo));
    PlanNode& p = plan_.nodes[node.id];
    NodeInfo& info = plan_.infos[node.id];
    info.origin = plan_.lowered.origins[node.id];
    p.node = info.origin.is_plumbing ? &node : info.origin.node;
    info.frame = FrameIndex(static_cast<uint32_t>(table_.frame_of_node[node.id]));
    p.opcode = OpcodeOf(node.kind());
    p.num_inputs = static_cast<uint32_t>(node.inputs.size());
    p.num_outputs = static_cast<uint32_t>(node.num_outputs());
    p.runs_dead = node.kind() == OpKind::kTransfer;
    p.needs_tag = p.runs_dead || node.op->traits.effect != Effect::kNone;
    p.is_constant = node.kind() == OpKind::kEnter && NodeAttr<bool>(node, "is_constant");
    if (p.opcode == Opcode::kEnter) {
      p.target_frame = FrameIndex(static_cast<uint32_t>(table_.output_frame_of_node[node.id]));
    }
    FramePlan& frame = FrameOf(node.id);
    p.opens_gate = node.kind() == OpKind::kLoopCond && frame.frame.loop_cond == node.id;
    p.first_input = InputSlot(frame.num_inputs);
    frame.num_inputs += p.num_inputs;
    if (p.opcode == Opcode::kArg) {
      info.arg_index = static_cast<int>(NodeAttr<int64_t>(node, "index"));
      const auto& args = function_.arg_nodes;
      info.owns_arg = info.arg_index >= 0 && info.arg_index < static_cast<int>(args.size()) &&
                      args[info.arg_index] == node.id;
    }
    BindKernel(node, p, info);
    return absl::OkStatus();
  }

  void BindKernel(const Node& node, PlanNode& p, NodeInfo& info) {
    if (const auto group = plan_.groups.find(node.id); group != plan_.groups.end()) {
      p.run = &fused::RunGroup;
      p.attrs = group->second.get();
      return;
    }
    if (IsStructured(node.kind())) {
      if (const auto loop = loops_.find(p.node); loop != loops_.end() && loop->second != nullptr) {
        p.opcode = Opcode::kLoop;
        p.run = &sequential::RunLoop;
        p.attrs = loop->second.get();
        p.needs_tag |= loop->second->needs_tag;
        return;
      }
    }
    if (node.kind() == OpKind::kSymbolicGradient) {
      info.unavailable = BugError("a SymbolicGradient was not expanded");
    }
    if (p.opcode == Opcode::kUnavailable && info.unavailable.ok())
      info.unavailable = BugError(absl::StrCat(node.op_name, " was not lowered"));
    if (p.opcode == Opcode::kCall || p.opcode == Opcode::kArg || p.opcode == Opcode::kRetval ||
        p.opcode == Opcode::kUnavailable)
      return;
    absl::StatusOr<Kernel> kernel = MakeKernel(node, *p.node, info.origin.is_plumbing);
    if (!kernel.ok()) {
      p.opcode = Opcode::kUnavailable;
      info.unavailable = kernel.status();
      return;
    }
    info.kernel = *std::move(kernel);
    p.attrs = info.kernel.attrs.get();
    if (p.opcode == Opcode::kConst) {
      p.constant = &NodeAttr<Tensor>(*p.node, "value");
    } else if (info.kernel.run_async != nullptr) {
      p.opcode = Opcode::kAsyncKernel;
      p.kernel = &info.kernel;
    } else {
      p.run = info.kernel.run;
    }
  }

  // `origin`: the node as kernels see it.
  absl::StatusOr<Kernel> MakeKernel(const Node& node, const Node& origin, bool is_plumbing) const {
    if (kernels_ != nullptr && !is_plumbing) return kernels_(origin);
    if (Ops().HasKernel(node.op_name)) return Ops().MakeKernel(origin);
    return BugError(absl::StrCat("op ", node.op_name, " has no kernel"));
  }

  absl::Status CountArrivals(const Node& node) {
    Waits& waits = waits_[node.id];
    for (const Endpoint input : node.inputs) {
      if (feed_of_.contains(input)) continue;
      ++waits.data;
      const OpKind source = function_.node(input.node).kind();
      if (source != OpKind::kNextIteration) ++waits.deaths;
    }
    for (const NodeId control : node.control_inputs) {
      if (needed_[control]) ++waits.control;  // else a fed placeholder
    }
    FramePlan& frame = FrameOf(node.id);
    waits.count = CountIndex(static_cast<uint32_t>(frame.initial_counts.size()));
    if (node.kind() == OpKind::kMerge) {
      if (waits.control > PendingCounts::kMaxMergeInputs ||
          node.inputs.size() > PendingCounts::kMaxMergeInputs) {
        return absl::UnimplementedError(
            absl::StrCat("node ", node.name, " (", node.op_name,
                         ") joins more inputs than an engine can count"));
      }
      plan_.nodes[node.id].count = waits.count;
      frame.initial_counts.push_back(PendingCounts::Merge(waits.control, waits.deaths));
      return absl::OkStatus();
    }
    const bool sends =
        node.kind() == OpKind::kTransfer && waits.all() > 0 && frame.index.value() > 0;
    waits.is_counted = waits.all() > 1 || sends;
    if (sends) frame.sends.emplace_back(IndexOf(node.id), waits.count);
    if (waits.is_counted) frame.initial_counts.push_back(PendingCounts::Ordinary(waits.all()));
    return absl::OkStatus();
  }

  // Nodes that a loop's value may pass without a stop on the worker's stack: whoever delivers it to
  // them hands it on himself. From one node that stops to the next there is at most one of each
  // kind, in this order: NextIteration, the loop's Merge, LoopCond, Switch; so hands never go in
  // circles.
  void FindThroughways() {
    is_throughway_.resize(function_.nodes.size());
    for (const OpKind kind :
         {OpKind::kMerge, OpKind::kLoopCond, OpKind::kSwitch, OpKind::kNextIteration}) {
      for (const Node& node : function_.nodes) {
        if (node.kind() == kind && needed_[node.id]) is_throughway_[node.id] = IsThroughway(node);
      }
    }
  }

  // In frames with transfers, the variables of loops: a Merge of an Enter and a NextIteration.
  void FindCarriersOfDeath() {
    std::vector<bool> has_transfers(plan_.frames.size());
    for (const Node& node : function_.nodes) {
      if (needed_[node.id] && node.kind() == OpKind::kTransfer)
        has_transfers[plan_.infos[node.id].frame.value()] = true;
    }
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id] || node.kind() != OpKind::kMerge || node.inputs.size() != 2) continue;
      const NodeId next = node.inputs[1].node;
      if (has_transfers[plan_.infos[node.id].frame.value()] && waits_[node.id].deaths == 1 &&
          function_.node(next).kind() == OpKind::kNextIteration) {
        plan_.nodes[next].carries_death = true;
      }
    }
  }

  bool IsThroughway(const Node& node) const {
    const Waits& waits = waits_[node.id];
    if (waits.data != node.inputs.size() || waits.control > 0) return false;  // fed, or held back
    const auto source = [&](size_t slot) -> const Node& {
      return function_.node(node.inputs[slot].node);
    };
    if (node.kind() == OpKind::kMerge) {
      return waits.data == 2 && source(0).kind() == OpKind::kEnter &&
             !plan_.nodes[source(0).id].is_constant && source(1).kind() == OpKind::kNextIteration;
    }
    if (node.kind() == OpKind::kSwitch) return source(1).kind() == OpKind::kLoopCond;
    const OpKind from = source(0).kind();
    if (node.kind() == OpKind::kLoopCond) return from == OpKind::kMerge || IsPlain(from);
    return from != OpKind::kEnter && from != OpKind::kNextIteration &&
           !is_throughway_[source(0).id];
  }

  // To input `input` of the node; nullopt: its control inputs.
  Edge EdgeTo(const Node& node, std::optional<uint32_t> input) const {
    const PlanNode& p = plan_.nodes[node.id];
    const Waits& waits = waits_[node.id];
    Edge edge;
    edge.node = IndexOf(node.id);
    edge.slot = input ? p.first_input + *input : Edge::kControl;
    edge.count = waits.count;
    edge.kills = node.kind() != OpKind::kControlTrigger;
    if (node.kind() == OpKind::kMerge) {
      edge.arrival = input ? Arrival::kMergeValue : Arrival::kMergeControl;
    } else if (waits.is_counted) {
      edge.arrival = Arrival::kCounted;
    } else {
      edge.arrival = Arrival::kOnly;
      if (node.kind() == OpKind::kExit && p.exit.value() < kExitBits) {
        edge.arrival = Arrival::kOnlyExit;
        edge.exit = p.exit;
      }
    }
    // The predicate that a Switch has been waiting for.
    const bool may_wait = node.kind() == OpKind::kSwitch && input == 0;
    if (is_throughway_[node.id] && input && !may_wait) edge.arrival = Arrival::kThrough;
    return edge;
  }

  // Where output `slot` of a node starts in a list of ranges; its control edges come last.
  void CollectEdges() {
    size_t ranges = 0;
    for (PlanNode& p : plan_.nodes) {
      p.first_range = static_cast<uint32_t>(ranges);
      ranges += p.num_outputs + 1;
    }
    std::vector<std::vector<Edge>> by_range(ranges);
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id]) continue;
      for (uint32_t slot = 0; slot < node.inputs.size(); ++slot) {
        const Endpoint input = node.inputs[slot];
        const Edge edge = EdgeTo(node, slot);
        if (const auto feed = feed_of_.find(input); feed != feed_of_.end()) {
          FrameOf(node.id).fed.push_back({feed->second, edge});
        } else {
          by_range[plan_.nodes[input.node].first_range + input.slot].push_back(edge);
        }
      }
      for (const NodeId control : node.control_inputs) {
        if (!needed_[control]) continue;
        const PlanNode& source = plan_.nodes[control];
        by_range[source.first_range + source.num_outputs].push_back(EdgeTo(node, std::nullopt));
      }
    }
    plan_.edge_ranges.reserve(ranges);
    for (const std::vector<Edge>& edges : by_range) {
      const auto begin = static_cast<uint32_t>(plan_.edges.size());
      plan_.edges.insert(plan_.edges.end(), edges.begin(), edges.end());
      plan_.edge_ranges.emplace_back(begin, static_cast<uint32_t>(plan_.edges.size()));
    }
    for (PlanNode& p : plan_.nodes) {
      if (p.num_outputs != 1) continue;
      p.edges = plan_.edge_ranges[p.first_range].first;
      p.controls = plan_.edge_ranges[p.first_range].second;
      p.edges_end = plan_.edge_ranges[p.first_range + 1].second;
    }
  }

  absl::Status AddFetches() {
    for (size_t i = 0; i < signature_.fetches.size(); ++i) {
      const Endpoint fetch = signature_.fetches[i];
      if (const auto feed = feed_of_.find(fetch); feed != feed_of_.end()) {
        plan_.fed_results.emplace_back(feed->second, static_cast<int>(i));
        continue;
      }
      const int frame = table_.output_frame_of_node[fetch.node];
      if (frame != 0) return FetchInLoop(function_.EndpointName(fetch), table_.frames[frame].name);
      plan_.infos[fetch.node].fetched.emplace_back(fetch.slot, static_cast<int>(i));
      plan_.nodes[fetch.node].is_fetched = true;
    }
    return absl::OkStatus();
  }

  // The nodes of one frame from which its LoopCond can be reached.
  HashSet<NodeId> Deciding(const FramePlan& frame) const {
    HashSet<NodeId> seen;
    std::vector<NodeId> work;
    const auto visit = [&](NodeId id) {
      if (!needed_[id] || plan_.infos[id].frame != frame.index) return;
      // A NextIteration decides about another iteration.
      if (function_.node(id).kind() == OpKind::kNextIteration) return;
      if (seen.insert(id).second) work.push_back(id);
    };
    visit(frame.frame.loop_cond);
    while (!work.empty()) {
      const Node& node = function_.node(work.back());
      work.pop_back();
      for (const Endpoint& input : node.inputs) visit(input.node);
      for (const NodeId control : node.control_inputs) visit(control);
    }
    return seen;
  }

  void FindRoots() {
    std::vector<std::vector<NodeId>> idle(plan_.frames.size());
    for (const Node& node : function_.nodes) {
      if (needed_[node.id] && waits_[node.id].all() == 0)
        idle[plan_.infos[node.id].frame.value()].push_back(node.id);
    }
    for (FramePlan& frame : plan_.frames) {
      const std::vector<NodeId>& nodes = idle[frame.index.value()];
      const bool in_loop = frame.index.value() > 0 && frame.frame.loop_cond >= 0;
      const auto deciding = in_loop && !nodes.empty() ? Deciding(frame) : HashSet<NodeId>();
      for (const NodeId id : nodes) {
        const bool gated = in_loop && !deciding.contains(id);
        (gated ? frame.gated_roots : frame.roots).push_back(IndexOf(id));
      }
    }
  }

  // What is left to count in a frame whose constant Enters have all arrived.
  void FindResidents() {
    for (FramePlan& frame : plan_.frames) {
      frame.resident_counts = frame.initial_counts;
      frame.has_resident = true;
      for (const NodeId enter : frame.frame.enters) {
        const PlanNode& p = plan_.nodes[enter];
        if (!p.is_constant) continue;
        ++frame.num_constant_enters;
        for (uint32_t i = p.edges; i < p.edges_end; ++i) AddResident(frame, plan_.edges[i]);
      }
      frame.has_resident &= frame.num_constant_enters > 0;
    }
  }

  static void AddResident(FramePlan& frame, const Edge& edge) {
    if (edge.arrival == Arrival::kCounted) {
      if (--frame.resident_counts[edge.count.value()] > 0) return;
    } else if (edge.arrival != Arrival::kOnly && edge.arrival != Arrival::kOnlyExit) {
      frame.has_resident = false;
      return;
    }
    frame.resident_roots.push_back(edge.node);
  }

  FunctionPlan& plan_;
  const KeptLoops& loops_;
  const KernelFactory& kernels_;
  const Function& function_;
  const RunSignature& signature_;
  int& num_pools_;
  const std::vector<bool> needed_;
  FrameTable table_;
  std::vector<Waits> waits_;
  std::vector<bool> is_throughway_;
  HashMap<Endpoint, int> feed_of_;
};

// References travel from outputs that are declared as such, through nodes that hand them on, and
// through calls. Where a program has none, no node needs to look.
bool HasRefs(const Function& function) { return absl::c_any_of(function.nodes, HasReferences); }
bool HasRefs(const Program& program) {
  return HasRefs(program.main()) ||
         absl::c_any_of(program.functions(), [](const auto& f) { return HasRefs(*f.second); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plan>> Plan::Make(std::shared_ptr<const Program> program,
                                                 const RunSignature& signature,
                                                 const Options& options) {
  return RunStage("planning", [&]() -> absl::StatusOr<std::unique_ptr<Plan>> {
    std::unique_ptr<Plan> plan(new Plan(options));
    plan->program_ = std::move(program);
    plan->fuses_ = options.makes_nodes && !HasRefs(*plan->program_);
    lower::ProgramFacts facts(*plan->program_);
    facts.AssumeScalars(options.scalar_feeds);
    GYRE_ASSIGN_OR_RETURN(Lowered main,
                          plan->LowerFunction(facts, plan->program_->main(), signature));
    GYRE_RETURN_IF_ERROR(plan->BuildAll(facts, std::move(main)));
    return plan;
  });
}

absl::StatusOr<std::unique_ptr<Plan>> Plan::MakePart(std::shared_ptr<const Program> program,
                                                     Lowered part, const KernelFactory& kernels) {
  return RunStage("planning", [&]() -> absl::StatusOr<std::unique_ptr<Plan>> {
    std::unique_ptr<Plan> plan(new Plan({.makes_nodes = false}));
    plan->kernels_ = kernels;
    plan->program_ = std::move(program);
    lower::ProgramFacts facts(*plan->program_);
    GYRE_RETURN_IF_ERROR(plan->BuildAll(facts, std::move(part)));
    return plan;
  });
}

// What a function of the host is taken to cost until it is known: it may wait for another one,
// which then has to run beside it.
constexpr uint32_t kHostNanos = 100'000'000;

absl::Status Plan::BuildAll(lower::ProgramFacts& facts, Lowered lowered) {
  FunctionPlan& main = plans_.emplace_back();
  main_ = &main;
  GYRE_RETURN_IF_ERROR(Build(program_->main(), std::move(lowered), main));
  while (!to_build_.empty()) {
    FunctionPlan* plan = to_build_.front();
    to_build_.pop_front();
    const Function& source = *plan->source;
    absl::StatusOr<Lowered> function = LowerFunction(facts, source, CallSignature(source));
    plan->error = function.ok() ? Build(source, *std::move(function), *plan) : function.status();
  }
  GYRE_RETURN_IF_ERROR(compiled_);
  const bool has_refs =
      absl::c_any_of(plans_, [](const FunctionPlan& plan) { return HasRefs(*plan.source); });
  for (FunctionPlan& plan : plans_) {
    for (PlanNode& node : plan.nodes) {
      uses_tags_ |= node.needs_tag;
      if (node.node != nullptr && node.node->op != nullptr && node.node->op->traits.calls_host) {
        node.cost.store(kHostNanos, std::memory_order_relaxed);
        NoteHeavy();
      }
      node.reads_refs = has_refs;
      if (node.opcode == Opcode::kKernel && node.num_outputs == 1 && !has_refs && !node.needs_tag &&
          !node.runs_dead) {
        node.opcode = Opcode::kPlainKernel;
      }
    }
    for (const PlanNode& node : plan.nodes) max_outputs_ = std::max(max_outputs_, node.num_outputs);
  }
  return absl::OkStatus();
}

absl::StatusOr<Lowered> Plan::LowerFunction(lower::ProgramFacts& facts, const Function& function,
                                            const RunSignature& signature) {
  LowerOptions options;
  if (options_.makes_nodes) {
    options.keeps = [&](const Function& in, const Node& node) { return Keeps(facts, in, node); };
  }
  return Lower(facts, function, signature, options);
}

absl::Status Plan::Build(const Function& source, Lowered lowered, FunctionPlan& plan) {
  plan.source = &source;
  plan.num_args = static_cast<int>(source.args.size());
  plan.lowered = std::move(lowered);
  if (fuses_) plan.groups = fused::FuseGroups(plan.lowered);
  GYRE_RETURN_IF_ERROR(Builder(plan, loops_, kernels_, num_pools_).Build());
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].opcode != Opcode::kCall || plan.nodes[i].node == nullptr) continue;
    NodeInfo& info = plan.infos[i];
    info.unavailable = BindCallee(plan.lowered.function.node(static_cast<NodeId>(i)), info);
    if (info.unavailable.ok()) continue;
    if (info.origin.scope == 0) return info.unavailable;
    plan.nodes[i].opcode = Opcode::kUnavailable;  // in a branch that need not be taken
  }
  return absl::OkStatus();
}

int Plan::num_kept_loops() const {
  return static_cast<int>(
      absl::c_count_if(loops_, [](const auto& loop) { return loop.second != nullptr; }));
}

bool Plan::Keeps(lower::ProgramFacts& facts, const Function& function, const Node& node) {
  const bool compiles = CompilesFirst(options_.compile.mode);
  const bool is_loop = IsLoop(node.kind());
  const bool is_conditional = IsConditional(node.kind());
  if (is_conditional && !(compiles && options_.compile.conditionals)) return false;
  if (!is_loop && !is_conditional && facts.CalledRecursively(node) == nullptr) return false;
  const auto [it, is_new] = loops_.try_emplace(&node);
  if (!is_new) return it->second != nullptr;
  const std::shared_ptr<sequential::RegisterLoop> made =
      sequential::CompileLoop(facts, function, node);
  if (made == nullptr) return false;
  if (options_.compile.mode != CompileMode::kNever)
    made->native = std::make_shared<sequential::NativeLoop>(options_.compile.at_once_after);
  if (compiles) {
    if (!made->native->MakeRegion(*made)) {
      if (is_conditional) return false;
      made->native = nullptr;
    } else if (compiled_.ok()) {
      compiled_ = made->native->Compile(options_.compile.mode == CompileMode::kContract);
    }
  }
  it->second = made;
  return true;
}

absl::Status Plan::BindCallee(const Node& node, NodeInfo& info) {
  for (const Callee& callee : CalleesOf(*program_, node)) {
    const std::string where =
        absl::StrCat("node ", info.origin.node->name, " (", info.origin.node->op_name, ")");
    const absl::StatusOr<const FunctionPlan*> plan = PlanOf(callee.function.name);
    if (!plan.ok()) return Annotate(plan.status(), where);
    GYRE_RETURN_IF_ERROR(Annotate(CheckArguments(node, callee, *(*plan)->source), where));
    GYRE_RETURN_IF_ERROR(Annotate(CheckResults(node, callee, *(*plan)->source), where));
    info.callee = *plan;
    info.first_arg = static_cast<uint32_t>(NumSelectorInputs(node));
  }
  return absl::OkStatus();
}

absl::StatusOr<const FunctionPlan*> Plan::PlanOf(const std::string& name) {
  if (const auto it = by_name_.find(name); it != by_name_.end()) return it->second;
  const Function* function = program_->FindFunction(name);
  if (function == nullptr) {
    return absl::NotFoundError(absl::StrCat("function ", name, " is not in the graph's library"));
  }
  FunctionPlan& plan = plans_.emplace_back();
  plan.source = function;
  plan.num_results = static_cast<int>(function->results.size());
  by_name_.emplace(name, &plan);
  to_build_.push_back(&plan);
  return &plan;
}

}  // namespace gyre::dataflow
