// From a lowered function to its groups.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "analysis/order.h"
#include "base/work.h"
#include "exec/fused/alive.h"
#include "exec/fused/group.h"
#include "ops/registry.h"

namespace gyre::fused {
namespace {

// What a group takes as inputs stays in memory until it has run. Of what others compute no more
// than that.
constexpr int kMaxComputedInputs = 32;

class Finder {
 public:
  explicit Finder(Lowered& lowered)
      : lowered_(lowered),
        function_(lowered.function),
        needed_(NeededNodes(function_, lowered.signature)),
        fed_(lowered.signature.feeds.begin(), lowered.signature.feeds.end()) {}

  FusedGroups Find() {
    FusedGroups groups;
    FindCandidates();
    if (num_candidates_ < 2) return groups;
    FindReaders();
    const std::vector<NodeId> order = ProducersFirst(function_, needed_);
    alive_.emplace(lowered_, order);
    Assign(order);
    std::vector<NodeId> last;  // of the groups
    for (const NodeId id : order) {
      if (!is_candidate_[id] || group_of_[id] < 0) continue;
      std::vector<NodeId>& members = members_[group_of_[id]];
      members.push_back(id);
      if (group_of_[id] == id && members.size() > 1) last.push_back(id);
    }
    for (const NodeId id : last) groups.emplace(id, Make(members_[id]));
    return groups;
  }

 private:
  const Node& node(NodeId id) const { return function_.node(id); }

  static bool HasPlainNumbers(const std::vector<NodeSignature::Slot>& slots) {
    return absl::c_all_of(slots, [](const NodeSignature::Slot& slot) {
      return !slot.is_ref && IsTrivial(slot.dtype);
    });
  }

  void FindCandidates() {
    is_candidate_.resize(function_.nodes.size());
    for (const Node& n : function_.nodes) {
      SpendWork();
      if (!needed_[n.id] || n.kind() != OpKind::kPlain || n.op == nullptr ||
          !n.op->traits.elementwise || lowered_.origins[n.id].is_plumbing ||
          fed_.contains({n.id, 0}) || n.num_outputs() != 1 || n.inputs.empty() ||
          !HasPlainNumbers(n.signature.inputs) || !HasPlainNumbers(n.signature.outputs))
        continue;
      is_candidate_[n.id] = true;
      ++num_candidates_;
    }
  }

  // Whether others than candidates see what a node computes, or when it has run.
  void FindReaders() {
    is_seen_.resize(function_.nodes.size());
    for (const Node& n : function_.nodes) {
      if (!needed_[n.id]) continue;
      for (const NodeId control : n.control_inputs) is_seen_[control] = true;
      for (const Endpoint& input : n.inputs)
        if (!is_candidate_[n.id]) is_seen_[input.node] = true;
    }
    for (const Endpoint& fetch : lowered_.signature.fetches) is_seen_[fetch.node] = true;
    for (const NodeId target : lowered_.signature.targets) is_seen_[target] = true;
    for (const FunctionResult& result : function_.results) is_seen_[result.value.node] = true;
    for (const auto& [name, id] : function_.control_results) is_seen_[id] = true;
  }

  // Consumers first: each node's readers have their group when it is its turn.
  void Assign(const std::vector<NodeId>& order) {
    group_of_.assign(function_.nodes.size(), -1);
    std::vector<NodeId> reader_group(function_.nodes.size(), kNobody);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (!is_candidate_[*id]) continue;
      SpendWork();
      absl::StatusOr<Kernel> kernel = Ops().MakeKernel(*lowered_.origins[*id].node);
      if (!kernel.ok() || kernel->rows == nullptr) {
        for (const Endpoint& input : node(*id).inputs) is_seen_[input.node] = true;
        continue;
      }
      const NodeId group = reader_group[*id];
      const bool joins = !is_seen_[*id] && group >= 0 && Fits(*id, group) && MayWaitFor(*id, group);
      group_of_[*id] = joins ? group : *id;
      if (joins) {
        computed_inputs_[group].erase({*id, 0});
      }
      kernels_.emplace(*id, *std::move(kernel));
      for (const Endpoint& input : node(*id).inputs) {
        NodeId& of_readers = reader_group[input.node];
        of_readers = of_readers == kNobody || of_readers == group_of_[*id] ? group_of_[*id] : kMany;
        if (IsComputed(input)) computed_inputs_[group_of_[*id]].insert(input);
      }
    }
  }
  static constexpr NodeId kNobody = -1;
  static constexpr NodeId kMany = -2;

  // What is fed, an argument or a constant is there anyway.
  bool IsComputed(Endpoint e) const {
    const OpKind kind = node(e.node).kind();
    return !fed_.contains(e) && kind != OpKind::kConst && kind != OpKind::kArg &&
           kind != OpKind::kPlaceholder;
  }
  bool Fits(NodeId id, NodeId group) {
    HashSet<Endpoint>& inputs = computed_inputs_[group];
    const auto more = static_cast<int>(absl::c_count_if(
        node(id).inputs, [&](Endpoint e) { return IsComputed(e) && !inputs.contains(e); }));
    return more <= 1 || static_cast<int>(inputs.size()) + more <= kMaxComputedInputs;
  }

  // An op that may fail, alive, tells so whatever its readers do.
  bool MayWaitFor(NodeId id, NodeId group) const {
    const Node& op = *lowered_.origins[id].node;
    const bool never_fails = op.op->failure != nullptr && op.op->failure(op) == Failure::kNever;
    return never_fails || alive_->AreAliveTogether(id, group);
  }

  // `members`: producers first.
  std::shared_ptr<const FusedGroup> Make(const std::vector<NodeId>& members) {
    auto group = std::make_shared<FusedGroup>();
    Node& last = function_.nodes[members.back()];
    HashMap<Endpoint, ValueIndex> values;
    std::vector<Endpoint> inputs;
    std::vector<NodeId> controls;
    HashSet<NodeId> has_control;
    const HashSet<NodeId> own(members.begin(), members.end());
    for (const NodeId id : members) {
      SpendWork(static_cast<int64_t>(node(id).control_inputs.size()));
      for (const NodeId control : node(id).control_inputs)
        if (has_control.insert(control).second) controls.push_back(control);
      for (size_t i = 0; i < node(id).inputs.size(); ++i) {
        const Endpoint e = node(id).inputs[i];
        if (own.contains(e.node) || ConstantOf(e) != nullptr) continue;
        if (!values.emplace(e, static_cast<ValueIndex>(inputs.size())).second) continue;
        inputs.push_back(e);
        // As it is read: of what is fed in the place of an unknown op, nobody else knows the type.
        group->inputs.push_back(node(id).signature.inputs[i].dtype);
      }
    }
    if (inputs.empty()) {  // the first constant starts it
      const Node& first = node(members[0]);
      values.emplace(first.inputs[0], 0);
      inputs.push_back(first.inputs[0]);
      group->inputs.push_back(first.signature.inputs[0].dtype);
    }
    for (const NodeId id : members) {
      for (const Endpoint& e : node(id).inputs) {
        if (own.contains(e.node) || values.contains(e)) continue;
        values.emplace(e, group->num_given());
        group->constants.push_back(ConstantOf(e));
      }
    }
    for (const NodeId id : members) {
      FusedOp op;
      op.node = lowered_.origins[id].node;
      op.id = id;
      op.kernel = std::move(kernels_.at(id));
      op.dtype = node(id).signature.outputs[0].dtype;
      for (const Endpoint& e : node(id).inputs) op.operands.push_back(values.at(e));
      values.emplace(Endpoint{id, 0},
                     group->num_given() + static_cast<ValueIndex>(group->ops.size()));
      group->may_fail |=
          op.node->op->failure == nullptr || op.node->op->failure(*op.node) == Failure::kByValues;
      group->ops.push_back(std::move(op));
    }
    Place(*group);
    WriteSteps(*group);
    last.inputs = std::move(inputs);
    last.control_inputs = std::move(controls);
    return group;
  }

  // A constant that is there without waiting.
  const Tensor* ConstantOf(Endpoint e) const {
    const Node& n = node(e.node);
    if (n.kind() != OpKind::kConst || !n.control_inputs.empty() || fed_.contains(e)) return nullptr;
    const NodeOrigin& origin = lowered_.origins[e.node];
    const Tensor& value = NodeAttr<Tensor>(origin.is_plumbing ? n : *origin.node, "value");
    // One that is not of the type that it says is an error of its own, when it runs.
    return value.dtype() == n.signature.outputs[0].dtype ? &value : nullptr;
  }

  // Says who reads a value last, and where results lie.
  static void Place(FusedGroup& group) {
    const auto size = [&](ValueIndex value) -> uint32_t {
      if (value < group.inputs.size()) return DTypeSize(group.inputs[value]);
      if (value < group.num_given())
        return DTypeSize(group.constants[value - group.inputs.size()]->dtype());
      return DTypeSize(group.ops[value - group.num_given()].dtype);
    };
    const auto new_cell = [&](uint32_t bytes) {
      const uint32_t cell = (group.num_cell_bytes + bytes - 1) / bytes * bytes;
      group.num_cell_bytes = cell + bytes;
      return cell;
    };
    for (ValueIndex value = 0; value < group.num_given(); ++value)
      group.cells.push_back(new_cell(size(value)));
    std::vector<bool> is_read(group.num_given() + group.ops.size());
    for (auto op = group.ops.rbegin(); op != group.ops.rend(); ++op) {
      op->is_last.resize(op->operands.size());
      for (size_t i = op->operands.size(); i-- > 0;) {
        op->is_last[i] = !is_read[op->operands[i]];
        is_read[op->operands[i]] = true;
      }
    }
    std::vector<uint32_t> free;  // slots
    for (FusedOp& op : group.ops) {
      op.bytes = DTypeSize(op.dtype);
      op.cell = new_cell(op.bytes);
      group.max_bytes = std::max(group.max_bytes, op.bytes);
      group.max_operands = std::max(group.max_operands, static_cast<uint32_t>(op.operands.size()));
      if (&op == &group.ops.back()) break;  // its slot is 0, the output's
      // The result may take the place of an operand that nobody else reads.
      std::vector<uint32_t> left;
      bool has_slot = false;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        if (!op.is_last[i] || op.operands[i] < group.num_given()) continue;
        const uint32_t slot = group.ops[op.operands[i] - group.num_given()].slot;
        const bool fits = size(op.operands[i]) == op.bytes && (i < 2 || op.kernel.rows->broadcasts);
        if (fits && !has_slot) {
          op.slot = slot;
          has_slot = true;
        } else {
          left.push_back(slot);
        }
      }
      if (!has_slot && free.empty()) free.push_back(++group.num_slots);
      if (!has_slot) {
        op.slot = free.back();
        free.pop_back();
      }
      free.insert(free.end(), left.begin(), left.end());
    }
  }

  static void WriteSteps(FusedGroup& group) {
    for (const FusedOp& op : group.ops) {
      CellStep& step = group.steps.emplace_back();
      step.op = &op;
      step.output = op.cell;
      if (op.kernel.scalar == nullptr || op.operands.size() > kMaxBroadcastOperands) continue;
      step.function = op.kernel.scalar->function;
      for (size_t i = 0; i < op.operands.size(); ++i)
        step.operands[i] = group.cell_of(op.operands[i]);
    }
  }

  Lowered& lowered_;
  Function& function_;
  const std::vector<bool> needed_;
  const HashSet<Endpoint> fed_;
  std::vector<bool> is_candidate_, is_seen_;
  int num_candidates_ = 0;
  std::optional<AliveSets> alive_;
  std::vector<NodeId> group_of_;  // the last op of it; -1: none
  HashMap<NodeId, HashSet<Endpoint>> computed_inputs_;
  HashMap<NodeId, std::vector<NodeId>> members_;
  HashMap<NodeId, Kernel> kernels_;
};

}  // namespace

FusedGroups FuseGroups(Lowered& lowered) { return Finder(lowered).Find(); }

}  // namespace gyre::fused
