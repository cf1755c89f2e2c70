#include "place/groups.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/hash_map.h"
#include "base/work.h"
#include "ir/calls.h"
#include "place/state_homes.h"

namespace gyre::place {
namespace {

constexpr absl::string_view kColocation = "loc:@";

// Hands on what it gets, a reference as a reference (docs/semantics.md).
bool HandsOnReferences(const Node& node) {
  return IsPrimitive(node.kind()) || node.kind() == OpKind::kIdentity ||
         (HandsOn(node) && node.signature.outputs[0].is_ref);
}

class Finder {
 public:
  Finder(const Lowered& lowered, const FrameTable& frames, const std::vector<bool>& needed)
      : lowered_(lowered),
        function_(lowered.function),
        frames_(frames),
        needed_(needed),
        found_{Groups(lowered.function.nodes.size()),
               std::vector<bool>(lowered.function.nodes.size()),
               std::vector<bool>(lowered.function.nodes.size())} {}

  Colocation Run() && {
    FollowState();
    for (const Node& node : function_.nodes) found_.is_invariant[node.id] = IsInvariant(node);
    for (const Node& node : function_.nodes) {
      SpendWork();
      if (!needed_[node.id]) continue;
      names_.emplace(std::pair(lowered_.origins[node.id].scope, NameOf(node)), node.id);
      JoinInputs(node);
      JoinSharedState(node);
    }
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) JoinColocated(node);
    }
    JoinFrames();
    return std::move(found_);
  }

 private:
  // As the user's function has it.
  const std::string& NameOf(const Node& node) const {
    const NodeOrigin& origin = lowered_.origins[node.id];
    return origin.is_plumbing || origin.node == nullptr ? node.name : origin.node->name;
  }

  void FollowState() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : function_.nodes) {
        if (!needed_[node.id] || found_.gives_state[node.id]) continue;
        found_.gives_state[node.id] = GivesState(node);
        changed |= found_.gives_state[node.id];
      }
    }
  }

  bool GivesState(const Node& node) const {
    bool gives = false;
    for (const NodeSignature::Slot& slot : node.signature.outputs)
      gives |= slot.is_ref || slot.dtype == DType::kResource;
    if (HandsOnReferences(node)) {
      for (const Endpoint& input : node.inputs) gives |= found_.gives_state[input.node];
    }
    return gives;
  }

  bool IsInvariant(const Node& node) const {
    return node.kind() == OpKind::kEnter && node.attrs.GetOr<bool>("is_constant", false) &&
           !found_.gives_state[node.id];
  }

  // Whether what the node gives is there in some iterations of its frame only.
  bool IsOnce(NodeId id) const {
    const OpKind kind = function_.node(id).kind();
    return (kind == OpKind::kEnter && !found_.is_invariant[id]) || kind == OpKind::kNextIteration;
  }

  void JoinInputs(const Node& node) {
    for (const Endpoint& input : node.inputs) {
      if (!needed_[input.node]) continue;  // it is fed
      if (found_.gives_state[input.node] || IsOnce(input.node))
        found_.groups.Join(node.id, input.node);
    }
    for (const NodeId control : node.control_inputs) {
      if (needed_[control] && IsOnce(control)) found_.groups.Join(node.id, control);
    }
  }

  // Variables, queues and the like that have a name in the session.
  void JoinSharedState(const Node& node) {
    std::string name = StateName(node, NameOf(node));
    if (name.empty()) return;
    const auto [it, is_new] = shared_.emplace(name, node.id);
    found_.states.emplace_back(node.id, std::move(name));
    if (!is_new) found_.groups.Join(node.id, it->second);
  }

  void JoinColocated(const Node& node) {
    const auto* classes = node.attrs.Get<std::vector<std::string>>("_class");
    if (classes == nullptr) return;
    for (absl::string_view name : *classes) {
      if (!absl::ConsumePrefix(&name, kColocation)) continue;
      const auto it = names_.find(std::pair(lowered_.origins[node.id].scope, std::string(name)));
      if (it != names_.end()) found_.groups.Join(node.id, it->second);
    }
  }

  // A frame without a LoopCond, with all frames in it.
  void JoinFrames() {
    std::vector<NodeId> together(frames_.frames.size(), -1);  // by frame: one of its nodes
    std::vector<int> outermost(frames_.frames.size(), -1);    // the frame that is not cut
    for (size_t f = 1; f < frames_.frames.size(); ++f) {
      const Frame& frame = frames_.frames[f];
      outermost[f] = outermost[frame.parent];
      if (outermost[f] < 0 && frame.loop_cond < 0) outermost[f] = static_cast<int>(f);
    }
    const auto join = [&](int frame, NodeId node) {
      if (outermost[frame] < 0) return;
      NodeId& first = together[outermost[frame]];
      if (first < 0) first = node;
      found_.groups.Join(node, first);
    };
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id]) continue;
      join(frames_.frame_of_node[node.id], node.id);
      join(frames_.output_frame_of_node[node.id], node.id);
    }
  }

  const Lowered& lowered_;
  const Function& function_;
  const FrameTable& frames_;
  const std::vector<bool>& needed_;
  Colocation found_;
  std::map<std::pair<int, std::string>, NodeId> names_;  // by scope and name
  HashMap<std::string, NodeId> shared_;
};

}  // namespace

NodeId Groups::Of(NodeId node) {
  while (parent_[node] != node) {
    parent_[node] = parent_[parent_[node]];
    node = parent_[node];
  }
  return node;
}

Colocation FindColocation(const Lowered& lowered, const FrameTable& frames,
                          const std::vector<bool>& needed) {
  return Finder(lowered, frames, needed).Run();
}

}  // namespace gyre::place
