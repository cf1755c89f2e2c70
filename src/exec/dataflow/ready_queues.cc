#include "exec/dataflow/ready_queues.h"

#include <climits>

namespace gyre::dataflow {

void ReadyQueues::Queue(Ready ready) {
  Place place;
  place.depth = ready.iteration->frame->activation->depth;
  for (const Iteration* i = ready.iteration; i->frame->parent != nullptr;
       i = i->frame->parent_iteration) {
    place.iteration = i->number;
  }
  const int64_t nanos = ready.plan().cost.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  place.order = order_++;
  queue_.emplace(place, Queued{ready, nanos});
  queued_nanos_.fetch_add(nanos, std::memory_order_relaxed);
  queued_.fetch_add(1, std::memory_order_relaxed);
}

void ReadyQueues::Take(Map::iterator queued, Ready* ready) {
  *ready = queued->second.ready;
  queued_nanos_.fetch_sub(queued->second.nanos, std::memory_order_relaxed);
  queue_.erase(queued);
  queued_.fetch_sub(1, std::memory_order_relaxed);
}

bool ReadyQueues::TakeDeepest(Ready* ready) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return false;
  Take(queue_.lower_bound({queue_.rbegin()->first.depth, INT64_MIN, 0}), ready);
  return true;
}

bool ReadyQueues::TakeHighest(Ready* ready) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return false;
  Take(queue_.begin(), ready);
  return true;
}

void ReadyQueues::LetOldestRun() {
  stack_.RaiseOldest();
  if (Ready ready; TakeHighest(&ready)) stack_.Push(ready.iteration, ready.node(), ready.dead());
}

void ReadyQueues::Clear() {
  stack_ = ReadyStack();
  new_heavy_.clear();
  queue_.clear();
  queued_nanos_.store(0, std::memory_order_relaxed);
}

}  // namespace gyre::dataflow
