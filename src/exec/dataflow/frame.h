// Frame and Iteration: the moving state of a run. An Activation is one call of a function; a Frame
// is one loop that was entered (frame 0 of an activation: the function itself); an Iteration holds
// the counts and input values of the nodes that run in it.
//
// Iterations of a frame form a list, oldest first. An iteration's `outstanding` says what it still
// waits for: nodes that are ready or running, child frames that are open, and one more for what
// came before it (the previous iteration; in the first one every Enter that is yet to arrive). It
// reaches zero once, and the thread that brings it there ends the iteration: it alone may then
// touch it. So nothing here is freed under anybody's feet, and no lock is needed to complete a node
// that neither creates nor ends an iteration.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/dataflow/counts.h"
#include "exec/dataflow/plan.h"
#include "gyre/core/tensor.h"

namespace gyre::dataflow {

struct Activation;
struct Frame;

// Drops what `t` holds. Cheaper than assigning an empty Tensor.
inline void DropValue(Tensor& t) { const Tensor gone(std::move(t)); }

// One block of memory: this header, then counts, children, inputs. Comes from a pool of its
// FramePlan.
struct Iteration {
  Frame* frame = nullptr;
  IndexedSpan<NodeIndex, const PlanNode> nodes;  // these three: of the function
  const Edge* edges = nullptr;
  const std::pair<uint32_t, uint32_t>* ranges = nullptr;
  IndexedSpan<InputSlot, Tensor> inputs;
  IndexedSpan<CountIndex, PendingCounts::Word> counts;
  std::atomic<Frame*>* children = nullptr;  // by FramePlan::child_index; null: not open
  uint32_t num_inputs = 0;
  int64_t number = 0;
  // See above. acq_rel: who ends the iteration sees all that happened in it.
  std::atomic<int64_t> outstanding{0};
  // Set once, under the frame's lock; release/acquire: readers deliver into what it points to.
  std::atomic<Iteration*> next{nullptr};
  // Exits that death has reached, by ExitIndex. Relaxed: read at the end, see
  // outstanding.
  std::atomic<uint64_t> dead_exits{0};
  Iteration* next_free = nullptr;  // in its pool
  Iteration* next_made = nullptr;  // all of a run, for the end of one that failed
};

// A node that is ready to run. Two words, written and read as such: it travels through the stack of
// a worker at once.
struct Ready {
  Ready() = default;
  Ready(Iteration* in, NodeIndex node, bool is_dead)
      : iteration(in),
        what(reinterpret_cast<uintptr_t>(&in->nodes[node]) | (is_dead ? kDead : 0)) {}
  const PlanNode& plan() const { return *reinterpret_cast<const PlanNode*>(what & ~kDead); }
  NodeIndex node() const { return iteration->nodes.IndexOf(plan()); }
  bool dead() const { return (what & kDead) != 0; }

  static constexpr uintptr_t kDead = 1;  // PlanNodes are aligned
  Iteration* iteration = nullptr;
  uintptr_t what = 0;
};

// A value on its way into an iteration, or its absence: no value when dead.
struct Token {
  NodeIndex source{0};
  Tensor value;
};

// The part of a tag that all of a frame's iterations have in common, for the nodes of one scope.
struct KnownId {
  static constexpr int kNobody = -1, kBeingWritten = -2;
  // Whose `id` is. acquire/release: who sees a scope sees its id.
  std::atomic<int> scope{kNobody};
  uint64_t id = 0;

  const uint64_t* Find(int of_scope) const {
    return scope.load(std::memory_order_acquire) == of_scope ? &id : nullptr;
  }
  void Keep(int of_scope, uint64_t value) {
    int nobody = kNobody;
    if (!scope.compare_exchange_strong(nobody, kBeingWritten, std::memory_order_relaxed)) return;
    id = value;
    scope.store(of_scope, std::memory_order_release);
  }
};

struct Frame {
  const FramePlan* plan = nullptr;
  Activation* activation = nullptr;
  Frame* parent = nullptr;
  Iteration* parent_iteration = nullptr;
  Iteration* first = nullptr;        // as long as Enters are to come
  std::atomic<bool> entered{false};  // some Enter was alive. Relaxed: the LoopCond comes after it
  // Of scope 0, and of the loop's condition and body, if some transfer or key has asked: see TagOf.
  KnownId known_ids[3];

  // Guards what follows, while several threads work on the run. Taken to create or end an
  // iteration, and for Exits and constant Enters; never while another frame's is held.
  std::mutex mutex;
  Iteration* oldest = nullptr;
  Iteration* newest = nullptr;
  int64_t live = 0;            // iterations that are not done
  int64_t window = 1;          // as many may be live
  std::vector<Token> waiting;  // NextIterations that the window holds back
  std::vector<Token> invariants;
  // The invariants, slot by slot, once all are there: see FramePlan::has_resident.
  std::vector<std::pair<InputSlot, Tensor>> resident;
  bool is_resident = false;
  // Those seen in the newest iteration that have no bit in Iteration::dead_exits.
  std::vector<NodeIndex> dead_exits;
  // NextIterations that were dead in the newest iteration: see PlanNode::carries_death.
  std::vector<NodeIndex> dead_variables;
  std::vector<bool> live_exits;  // by ExitIndex: have handed out their value. Empty: none has

  Frame* next_free = nullptr;
  Frame* next_made = nullptr;
};

// One call of a function, or the run itself.
struct Activation {
  const FunctionPlan* plan = nullptr;
  Ready caller;  // iteration null: the run
  std::vector<Tensor> args;
  std::vector<Tensor> results;  // each written by the one node that computes it
  Frame* root = nullptr;
  Tag tag;              // of its main iteration
  int depth = 0;        // of calls; a caller's is less
  int64_t started = 0;  // when the call began, if somebody watches
  bool in_use = false;
  Activation* next_free = nullptr;
  Activation* next_made = nullptr;
};

}  // namespace gyre::dataflow
