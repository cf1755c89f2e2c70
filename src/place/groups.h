// Groups: which nodes of a lowered function cannot be told apart by a cut between devices.
//
// Together stand: what shares a reference or a resource (a variable and its users, the users of one
// stack or array); what the program colocates ("_class" = "loc:@name"); the ends of an edge that is
// there in some iterations of a frame only (into a loop, and from one iteration to the next); and
// all of a frame that has no LoopCond, since nobody could tell other devices how often it runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/frames.h"
#include "lower/lower.h"

namespace gyre::place {

// Sets of nodes. A value type; not thread-safe.
class Groups {
 public:
  explicit Groups(size_t num_nodes) : parent_(num_nodes) {
    for (size_t i = 0; i < num_nodes; ++i) parent_[i] = static_cast<NodeId>(i);
  }
  // One node of the group, the same for all of its nodes.
  NodeId Of(NodeId node);
  void Join(NodeId a, NodeId b) { parent_[Of(a)] = Of(b); }

 private:
  std::vector<NodeId> parent_;
};

struct Colocation {
  Groups groups;
  // By node: an Enter that hands the same value to every iteration, and no reference. It belongs to
  // no device: each that needs the value has an Enter of its own.
  std::vector<bool> is_invariant;
  // By node: gives a reference or a resource, its own or one that it got.
  std::vector<bool> gives_state;
  // The handles of what the session finds by name, and these names (place/state_homes.h).
  std::vector<std::pair<NodeId, std::string>> states;
};

// `frames`: of `lowered.function`, of the nodes that are `needed`.
Colocation FindColocation(const Lowered& lowered, const FrameTable& frames,
                          const std::vector<bool>& needed);

}  // namespace gyre::place
