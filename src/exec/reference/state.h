// The moving parts of one run on the reference engine: calls, frames, iterations.
//
// All of them belong to one Machine and are touched by its thread alone.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "exec/reference/plan.h"

namespace gyre::reference {

struct Activation;
struct LoopFrame;
struct PendingCall;

// One iteration of one frame: counts and input values of the nodes that run in it.
struct Iteration {
  LoopFrame* frame = nullptr;
  int64_t number = 0;
  std::vector<Counts> counts;        // by NodePlan::index
  std::vector<Tensor> inputs;        // by NodePlan::first_input + slot
  int64_t outstanding_ops = 0;       // nodes that are ready or running
  int64_t outstanding_frames = 0;    // child frames that are not done
  std::vector<LoopFrame*> children;  // by FramePlan::child_index; null: not open
};
using IterationPtr = std::unique_ptr<Iteration>;

// A value on its way, or its absence: `value` has no value when dead.
struct Token {
  NodeId source = -1;
  Tensor value;
};

// One dynamic frame: a loop that was entered from one iteration of its parent. Frame 0 of an
// activation is the function itself: one iteration, never cleaned up before the call ends.
struct LoopFrame {
  const FramePlan* plan = nullptr;
  Activation* activation = nullptr;
  LoopFrame* parent = nullptr;
  Iteration* parent_iteration = nullptr;
  uint64_t id = 0;  // the tag's frame id
  // Number of its only iteration when it is the body of a While: the iteration.
  int64_t base_iteration = 0;
  int pending_enters = 0;
  std::deque<IterationPtr> live;  // oldest first; consecutive numbers
  int64_t highest = -1;
  std::vector<Token> waiting;  // NextIterations that the window holds back
  std::vector<Token> invariants;
  std::vector<NodeId> dead_exits;       // seen in the highest iteration
  std::vector<NodeId> live_exits;       // that have handed out their value
  bool entered = false;                 // some Enter was alive
  std::list<LoopFrame>::iterator self;  // in the activation's list
};

// What frames and calls take on the heap in all: themselves, a deque, places in sets, and what the
// allocator adds to each.
inline constexpr size_t kFrameBytes = sizeof(LoopFrame) + 800;

// A node that is ready to run.
struct Ready {
  Iteration* iteration = nullptr;
  NodeId node = -1;
  bool dead = false;
};

// One call of a function (or the run itself): its arguments, its frames, its results.
struct Activation {
  const FunctionPlan* plan = nullptr;
  std::vector<Tensor> args;
  std::vector<Tensor> results;
  std::unique_ptr<PendingCall> caller;   // who waits for it; null: the run
  std::list<LoopFrame> frames;           // those that are open; the first is the function itself
  std::list<Activation>::iterator self;  // in the machine's list
  int64_t live_ops = 0;
  size_t charged = 0;  // bytes of the run's budget, without its loops' frames
};

// A functional node that waits for a function it has started. For a loop it also holds the loop's
// state.
struct PendingCall {
  Ready ready;                   // the node
  int callee = 0;                // which of NodePlan::callees runs
  std::vector<Tensor> values;    // loop-carried values (While: while cond runs; For: never)
  int64_t iteration = 0;         // of a loop
  int64_t iterations = 0;        // of a For: how many there will be
  int64_t start = 0, delta = 0;  // of a For
  int64_t started = 0;           // when it began, if somebody watches
};

inline constexpr size_t kActivationBytes = sizeof(Activation) + sizeof(PendingCall) + 200;

}  // namespace gyre::reference
