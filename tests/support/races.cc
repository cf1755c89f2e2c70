#include "support/races.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/frames.h"

namespace gyre::test {
namespace {

bool HandsOn(const Node& node) {
  return node.op_name == "Identity" || node.op_name == "IdentityN" || IsPrimitive(node.kind());
}

bool IsHandle(const Node& node, size_t input) {
  const NodeSignature::Slot& slot = node.signature.inputs[input];
  return slot.dtype == DType::kResource || slot.is_ref;
}

bool OnlyReads(const Node& node) {
  static const absl::flat_hash_set<std::string> kReads = {
      "ReadVariableOp",      "VariableShape",     "VarIsInitializedOp", "IsVariableInitialized",
      "ResourceGather",      "TensorArrayReadV3", "TensorArraySizeV3",  "TensorArrayGatherV3",
      "TensorArrayConcatV3", "StackCloseV2",      "QueueSizeV2"};
  return kReads.contains(node.op_name);
}

class Effects {
 public:
  // Of the nodes for which `needed` is true.
  Effects(const Function& function, std::vector<bool> needed)
      : function_(function), needed_(std::move(needed)) {
    readers_.resize(function.nodes.size());
    for (const Node& node : function.nodes) {
      if (!needed_[node.id]) continue;
      for (const Endpoint& e : node.inputs) readers_[e.node].push_back(node.id);
      for (const NodeId source : node.control_inputs) readers_[source].push_back(node.id);
    }
  }

  bool MayRace() {
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) AddEffect(node);
    }
    if (effects_.empty()) return false;
    auto frames = AnalyzeFrames(function_, {.nodes = &needed_});
    if (!frames.ok()) return true;
    frames_ = *std::move(frames);
    for (size_t i = 0; i < effects_.size(); ++i) {
      for (size_t j = i; j < effects_.size(); ++j) {
        if (Conflict(effects_[i], effects_[j]) && !AreOrdered(effects_[i].node, effects_[j].node))
          return true;
      }
    }
    return false;
  }

 private:
  struct Effect {
    NodeId node;
    bool writes;
    absl::flat_hash_set<std::string> resources;
  };

  void AddEffect(const Node& node) {
    if (node.op == nullptr || HandsOn(node)) return;
    Effect effect{node.id, !OnlyReads(node), {}};
    for (size_t i = 0; i < node.inputs.size() && i < node.signature.inputs.size(); ++i) {
      const Node& source = function_.node(node.inputs[i].node);
      const size_t slot = static_cast<size_t>(node.inputs[i].slot);
      const bool from_ref =
          slot < source.signature.outputs.size() && source.signature.outputs[slot].is_ref;
      if (!IsHandle(node, i) && !from_ref) continue;
      FindResources(node.inputs[i].node, effect.resources);
    }
    // What takes the value of a reference reads it; what takes the reference may change it.
    bool takes_handle = false;
    for (size_t i = 0; i < node.signature.inputs.size(); ++i) takes_handle |= IsHandle(node, i);
    effect.writes &= takes_handle;
    if (!effect.resources.empty()) effects_.push_back(std::move(effect));
  }

  void FindResources(NodeId from, absl::flat_hash_set<std::string>& resources) const {
    absl::flat_hash_set<NodeId> seen;
    std::vector<NodeId> work = {from};
    while (!work.empty()) {
      const Node& node = function_.node(work.back());
      work.pop_back();
      if (!seen.insert(node.id).second) continue;
      // A gradient's array is one with its source here, and what an op changes it hands on.
      const bool hands_on = HandsOn(node) || absl::StartsWith(node.op_name, "TensorArrayGrad") ||
                            absl::StartsWith(node.op_name, "Assign");
      if (hands_on) {
        for (size_t i = 0; i < node.inputs.size(); ++i) work.push_back(node.inputs[i].node);
        continue;
      }
      const std::string shared = node.attrs.GetOr<std::string>("shared_name", "");
      resources.insert(shared.empty() ? node.name : absl::StrCat("shared ", shared));
    }
  }

  static bool Conflict(const Effect& a, const Effect& b) {
    if (!a.writes && !b.writes) return false;
    return std::any_of(a.resources.begin(), a.resources.end(),
                       [&](const std::string& name) { return b.resources.contains(name); });
  }

  bool IsWithin(int frame, NodeId node) const {
    int f = frames_.frame_of_node[node];
    while (f > 0 && f != frame) f = frames_.frames[f].parent;
    return f == frame;
  }

  // Whether edges lead from one node to the other: in the same iteration of the loops that are
  // around both or, if `by_frame` is one of these, in a later iteration of that.
  bool Leads(NodeId from, NodeId to, int by_frame) const {
    std::vector<bool> seen(2 * function_.nodes.size());
    std::vector<std::pair<NodeId, bool>> work = {{from, false}};
    while (!work.empty()) {
      const auto [id, is_later] = work.back();
      work.pop_back();
      bool later = is_later;
      if (function_.node(id).kind() == OpKind::kNextIteration) {
        const int frame = frames_.frame_of_node[id];
        later |= frame == by_frame;
        if (by_frame < 0 && IsWithin(frame, from) && IsWithin(frame, to)) continue;
      }
      for (const NodeId reader : readers_[id]) {
        if (reader == to && later == (by_frame >= 0)) return true;
        if (seen[2 * reader + (later ? 1 : 0)]) continue;
        seen[2 * reader + (later ? 1 : 0)] = true;
        work.emplace_back(reader, later);
      }
    }
    return false;
  }

  // The loops around a node of which several iterations may be in flight.
  std::vector<int> WideLoops(NodeId node) const {
    std::vector<int> loops;
    for (int f = frames_.frame_of_node[node]; f > 0; f = frames_.frames[f].parent) {
      if (frames_.frames[f].parallel_iterations > 1) loops.push_back(f);
    }
    return loops;
  }

  bool IsChained(NodeId node) const {
    const std::vector<int> loops = WideLoops(node);
    return std::all_of(loops.begin(), loops.end(), [&](int f) { return Leads(node, node, f); });
  }

  bool AreOrdered(NodeId a, NodeId b) const {
    if (a != b && !Leads(a, b, -1) && !Leads(b, a, -1)) return false;
    return IsChained(a) && IsChained(b);
  }

  const Function& function_;
  const std::vector<bool> needed_;
  FrameTable frames_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<Effect> effects_;
};

}  // namespace

bool MayRace(const Program& program, absl::Span<const std::string> roots) {
  const Function& main = program.main();
  std::vector<bool> needed(main.nodes.size());
  std::vector<NodeId> work;
  const auto need = [&](NodeId id) {
    if (!needed[id]) work.push_back(id);
    needed[id] = true;
  };
  for (const std::string& root : roots) {
    const Node* node = main.FindNode(root.substr(0, root.find(':')));
    if (node != nullptr) need(node->id);
  }
  while (!work.empty()) {
    const Node& node = main.node(work.back());
    work.pop_back();
    for (const Endpoint& e : node.inputs) need(e.node);
    for (const NodeId source : node.control_inputs) need(source);
  }
  if (Effects(main, std::move(needed)).MayRace()) return true;
  return std::any_of(program.functions().begin(), program.functions().end(), [](const auto& named) {
    const Function& function = *named.second;
    return Effects(function, std::vector<bool>(function.nodes.size(), true)).MayRace();
  });
}

MergeWatch::MergeWatch(const Function& main) : main_(main) {
  for (const Node& node : main.nodes) ids_.emplace(node.name, node.id);
}

absl::Status MergeWatch::OnFired(const Firing& firing) {
  const bool is_in_function =
      std::any_of(firing.around.begin(), firing.around.end(),
                  [](const Surrounding& place) { return !place.function.empty(); });
  const auto id = ids_.find(std::string(firing.node));
  if (firing.site == nullptr || firing.is_plumbing || is_in_function || id == ids_.end())
    return absl::OkStatus();
  const TokenSite& site = *firing.site;
  std::vector<bool> live;
  for (const Tensor& output : firing.outputs) live.push_back(output.has_value());
  const std::lock_guard lock(mutex_);
  if (main_.node(id->second).kind() == OpKind::kExit)
    left_[{site.outer_frame, site.outer_iteration, id->second}] = live;
  fired_[{site.frame, site.iteration, id->second}] = {std::move(live), site.outer_frame,
                                                      site.outer_iteration};
  return absl::OkStatus();
}

void MergeWatch::OnEnded(const RunTotals&) {
  found_ = found_ || HasTwoLiveInputs();
  fired_.clear();
  left_.clear();
}

bool MergeWatch::HasTwoLiveInputs() const {
  return std::any_of(fired_.begin(), fired_.end(), [&](const auto& entry) {
    const auto& [frame, iteration, id] = entry.first;
    if (main_.node(id).kind() != OpKind::kMerge) return false;
    const std::vector<Endpoint>& inputs = main_.node(id).inputs;
    return std::count_if(inputs.begin(), inputs.end(),
                         [&](Endpoint e) { return IsLive(e, frame, iteration, entry.second); }) > 1;
  });
}

bool MergeWatch::IsLive(Endpoint e, uint64_t frame, int64_t iteration, const Fired& reader) const {
  const Node& source = main_.node(e.node);
  Place place = {frame, iteration, e.node};
  if (source.kind() == OpKind::kNextIteration) place = {frame, iteration - 1, e.node};
  if (source.kind() == OpKind::kEnter) {
    if (iteration > 0 && !source.attrs.GetOr<bool>("is_constant", false)) return false;
    place = {reader.outer_frame, reader.outer_iteration, e.node};
  }
  if (source.kind() == OpKind::kExit) {
    const auto left = left_.find(place);
    return left != left_.end() && left->second[0];
  }
  const auto made = fired_.find(place);
  if (made != fired_.end()) {
    const std::vector<bool>& live = made->second.live;
    return static_cast<size_t>(e.slot) < live.size() && live[e.slot];
  }
  // What is fed does not fire, nor does what is expanded, which lives if all that it takes does.
  if (source.kind() == OpKind::kPlaceholder) return true;
  return (IsStructured(source.kind()) || source.kind() == OpKind::kCall) &&
         std::all_of(source.inputs.begin(), source.inputs.end(),
                     [&](Endpoint input) { return IsLive(input, frame, iteration, reader); });
}

}  // namespace gyre::test
