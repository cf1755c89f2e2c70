// Frames: which loop each node of a graph of primitives runs in, worked out before anything runs.
//
// A frame is what an Enter opens and an Exit leaves; frame 0 is the function itself, outside of any
// loop. Two Enters with the same frame name under the same parent open the same frame. Every other
// node runs in the frame that its inputs live in, and data and control inputs must agree on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre {

struct Frame {
  std::string name;            // empty for frame 0
  int parent = -1;             // index of the frame around it; -1 for frame 0
  std::vector<NodeId> enters;  // Enters that open this frame (they run in the parent)
  std::vector<NodeId> exits;   // Exits that leave it (they run in it)
  std::vector<NodeId> next_iterations;
  NodeId loop_cond = -1;  // -1: none. Of several, the first whose name lacks "LoopCounter"
  // Iterations that may be in flight at once: the smallest number that one of `enters` names. It is
  // a promise: graphs rely on it where nothing else orders the effects of two iterations.
  int64_t parallel_iterations = 1;
};

struct FrameTable {
  std::vector<Frame> frames;  // parents stand before their children; never empty
  // Per node: the frame that it runs in. An Enter runs in the parent of the frame it opens, an Exit
  // in the frame that it leaves. 0 for nodes that are not looked at or can never run.
  std::vector<int> frame_of_node;
  // Per node: the frame that its outputs, control output included, live in. Differs from
  // frame_of_node for an Enter (the frame it opens) and an Exit (the parent of the frame it
  // leaves).
  std::vector<int> output_frame_of_node;
  // Nodes that no chain of edges from a node without inputs leads to, such as a Merge and a
  // NextIteration that feed only each other: nothing ever makes them run.
  std::vector<NodeId> unreachable;
};

// What part of a function is looked at. The pointees must outlive the call.
struct FrameScope {
  // Node i counts if (*nodes)[i]; null: all do. Edges from nodes that don't count are not there.
  const std::vector<bool>* nodes = nullptr;
  // Outputs that are fed: a fed value suits any frame, so the edges that carry it constrain
  // nothing. A node whose inputs are all fed runs in the frame it has in the whole function.
  const HashSet<Endpoint>* fed = nullptr;
};

// Linear in nodes and edges. INVALID_ARGUMENT, naming the nodes, for an Enter without a frame name
// or with parallel_iterations < 1, an Exit outside of any frame, inputs from different frames, one
// frame name under two parents, an Enter that depends on an Exit of its own frame, or two LoopConds
// in one frame (names that contain "LoopCounter" excepted: gradient builders put a counting loop
// into the frame of the loop that it counts).
// Requirement: the edges of `function` lead to existing nodes.
absl::StatusOr<FrameTable> AnalyzeFrames(const Function& function, const FrameScope& scope = {});

// AnalyzeFrames for its errors alone.
absl::Status CheckFrames(const Function& function);

}  // namespace gyre
