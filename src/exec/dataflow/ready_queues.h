// ReadyQueues: the nodes that one worker has ready.
//
// Cheap ones lie on its own stack, last first: no lock, no other thread. Those known to take longer
// (see kHeavyNanos) go to a queue from which idle threads may take.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "exec/dataflow/frame.h"
#include "exec/dataflow/ready_stack.h"

namespace gyre::dataflow {

// Touched by its worker's thread, but for TakeHighest and queued_nanos.
class ReadyQueues {
 public:
  // Nodes that take longer go to the queue: moving one costs about a tenth of this.
  static constexpr uint32_t kHeavyNanos = 2000;

  // `queued`, which must outlive it: the nodes in the queues of all workers.
  explicit ReadyQueues(std::atomic<int64_t>& queued) : queued_(queued) {}

  // Whether heavy nodes go to the queue; as long as none is known, nobody need look which are.
  void SetQueuesHeavy(bool queues) { queues_heavy_ = queues; }

  [[gnu::always_inline]] void Push(Iteration& iteration, NodeIndex node, bool dead) {
    if (queues_heavy_ && !dead && IsHeavy(iteration, node)) [[unlikely]] {
      new_heavy_.emplace_back(&iteration, node, dead);
    } else {
      stack_.Push(&iteration, node, dead);
    }
  }

  ReadyStack& stack() { return stack_; }
  // Puts the heavy nodes that were pushed since into the queue.
  void QueueNewHeavy() {
    if (new_heavy_.empty()) return;
    for (Ready ready : new_heavy_) Queue(ready);
    new_heavy_.clear();
  }
  void Queue(Ready ready);
  // For the worker itself: what lies deepest in calls, since a tree of calls taken from the top
  // would be all in memory at once. For others: what lies highest, since most follows from it. Of
  // both, the oldest iteration first: the window moves on with it. False when there is nothing.
  bool TakeDeepest(Ready* ready);
  bool TakeHighest(Ready* ready);
  // Puts what has been ready for longest on top: it may be an error, beside a loop that would go on
  // for ever.
  void LetOldestRun();
  // What the queue will take, about.
  int64_t queued_nanos() const { return queued_nanos_.load(std::memory_order_relaxed); }
  // Drops everything. Nobody else may be at work.
  void Clear();

 private:
  // Where a node stands in a queue: how deep in calls; in which iteration of the outermost loop
  // there; when it came.
  struct Place {
    int depth = 0;
    int64_t iteration = 0;
    uint64_t order = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Queued {
    Ready ready;
    int64_t nanos = 0;
  };
  using Map = std::map<Place, Queued>;

  static bool IsHeavy(const Iteration& iteration, NodeIndex node) {
    return iteration.nodes[node].cost.load(std::memory_order_relaxed) >= kHeavyNanos;
  }
  // Requirement: mutex_ is held.
  void Take(Map::iterator queued, Ready* ready);

  ReadyStack stack_;  // first: see Worker
  bool queues_heavy_ = false;
  std::vector<Ready> new_heavy_;  // heavy nodes, on their way to the queue
  std::atomic<int64_t>& queued_;

  std::mutex mutex_;
  Map queue_;           // guarded by mutex_
  uint64_t order_ = 0;  // guarded by mutex_
  // Written under mutex_; relaxed: a hint.
  std::atomic<int64_t> queued_nanos_{0};
};

}  // namespace gyre::dataflow
