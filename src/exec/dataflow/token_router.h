// TokenRouter: where values and deadness go, along the edges of a Plan.
//
// All but what is rare is defined in this header: it is what a run spends its time with, and the
// files that fire nodes and move frames take it in whole.
#pragma once

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "exec/dataflow/frame.h"
#include "exec/dataflow/ready_queues.h"

namespace gyre::dataflow {

class FrameControl;

// Of one worker; touched by its thread. Nodes that become ready are pushed to its queues.
class TokenRouter {
 public:
  using Range = std::pair<uint32_t, uint32_t>;

  // `frames`: whom values are given that pass to the next iteration. It must outlive this.
  TokenRouter(FrameControl& frames, std::atomic<int64_t>& queued)
      : queues_(queued), frames_(frames) {}

  ReadyQueues& queues() { return queues_; }

  // Whether other threads may be at work on the run: then all steps on shared words are atomic.
  bool shared() const { return shared_; }
  void SetShared(bool shared) { shared_ = shared; }
  // A lock while they may, else nothing.
  std::unique_lock<std::mutex> LockIfShared(std::mutex& mutex) const {
    return shared_ ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  }
  // Whether values may pass nodes without a stop (Arrival::kThrough): where nobody wants to see or
  // shuffle those.
  void SetPassesThrough(bool passes) { passes_through_ = passes; }

  // Each of these returns how many nodes of `to` became ready, whoever fired in which iteration.
  // What a node has made, which is consumed: its outputs, or that it is dead.
  int64_t Deliver(Iteration& to, const PlanNode& p, Tensor* outputs);
  int64_t DeliverDeath(Iteration& to, const PlanNode& p);
  // As Deliver, of a node with one output.
  int64_t DeliverOne(Iteration& to, const PlanNode& p, Tensor& output);
  // Of a Merge, with the input that has claimed it; of a Switch, with its inputs. Neither is
  // fetched or observed, and the predicate lies in place.
  int64_t DeliverMerged(Iteration& to, const PlanNode& p, Tensor& value, uint32_t position);
  int64_t DeliverSwitched(Iteration& to, const PlanNode& p, Tensor* inputs);
  // A value on one edge.
  int64_t DeliverValue(Iteration& to, const Edge& edge, Tensor&& value);
  // Nodes of a loop's body whose inputs are all fed have nothing to wait for but the decision that
  // the body runs.
  int64_t OpenGate(Iteration& iteration, bool alive);
  int64_t Push(Iteration& to, NodeIndex node, bool dead);
  // The slot holds nothing that needs dropping: a node that has fired, or died, has let go of its
  // inputs.
  static void Put(Iteration& to, InputSlot slot, Tensor&& value);

 private:
  int64_t DeliverOutput(Iteration& to, Range range, Tensor& value);
  int64_t DeliverDeaths(Iteration& to, Range range);
  int64_t DeliverToAll(Iteration& to, Range range, Tensor& value);
  int64_t DeliverControls(Iteration& to, Range range, bool dead);
  int64_t DeliverToMerge(Iteration& to, const Edge& edge, Tensor&& value);
  int64_t DeliverThrough(Iteration& to, const Edge& edge, Tensor&& value);
  int64_t DeliverDead(Iteration& to, const Edge& edge);
  int64_t DeliverControl(Iteration& to, const Edge& edge, bool dead);

  ReadyQueues queues_;  // first: see Worker
  FrameControl& frames_;
  bool shared_ = false;
  bool passes_through_ = true;
};

[[gnu::always_inline]] inline int64_t TokenRouter::Push(Iteration& to, NodeIndex node, bool dead) {
  queues_.Push(to, node, dead);
  return 1;
}

[[gnu::always_inline]] inline void TokenRouter::Put(Iteration& to, InputSlot slot, Tensor&& value) {
  new (&to.inputs[slot]) Tensor(std::move(value));
}

[[gnu::always_inline]] inline int64_t TokenRouter::DeliverValue(Iteration& to, const Edge& edge,
                                                                Tensor&& value) {
  if (edge.arrival > Arrival::kCounted) {
    if (edge.arrival == Arrival::kThrough) return DeliverThrough(to, edge, std::move(value));
    const uint32_t position = edge.slot - to.nodes[edge.node].first_input;
    if (shared_ || !PendingCounts::ClaimAndFire(to.counts[edge.count], position)) [[unlikely]]
      return DeliverToMerge(to, edge, std::move(value));
    Put(to, edge.slot, std::move(value));
    return Push(to, edge.node, false);
  }
  Put(to, edge.slot, std::move(value));
  if (edge.arrival != Arrival::kCounted) return Push(to, edge.node, false);
  const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
  if (outcome == PendingCounts::Outcome::kWait) return 0;
  return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

[[gnu::always_inline]] inline int64_t TokenRouter::DeliverOutput(Iteration& to, Range range,
                                                                 Tensor& value) {
  if (range.second - range.first == 1 && value.has_value()) [[likely]]
    return DeliverValue(to, to.edges[range.first], std::move(value));
  return DeliverToAll(to, range, value);
}

inline int64_t TokenRouter::DeliverControls(Iteration& to, Range range, bool dead) {
  int64_t ready = 0;
  for (uint32_t i = range.first; i != range.second; ++i)
    ready += DeliverControl(to, to.edges[i], dead);
  return ready;
}

inline int64_t TokenRouter::DeliverDeaths(Iteration& to, Range range) {
  int64_t ready = 0;
  for (uint32_t i = range.first; i != range.second; ++i) {
    const Edge& edge = to.edges[i];
    if (edge.arrival == Arrival::kOnlyExit && !shared_) {  // in every iteration but the last
      to.dead_exits.store(
          to.dead_exits.load(std::memory_order_relaxed) | uint64_t{1} << edge.exit.value(),
          std::memory_order_relaxed);
    } else {
      ready += DeliverDead(to, edge);
    }
  }
  return ready;
}

inline int64_t TokenRouter::DeliverMerged(Iteration& to, const PlanNode& p, Tensor& value,
                                          uint32_t position) {
  const Range* const ranges = to.ranges + p.first_range;
  int64_t ready = DeliverOutput(to, ranges[0], value);
  if (ranges[1].first != ranges[1].second) {
    Tensor index = Tensor::Scalar(static_cast<int32_t>(position));
    ready += DeliverOutput(to, ranges[1], index);
  }
  return ready + DeliverControls(to, ranges[2], false);
}

inline int64_t TokenRouter::DeliverSwitched(Iteration& to, const PlanNode& p, Tensor* inputs) {
  const Range* const ranges = to.ranges + p.first_range;
  const int taken = inputs[1].scalar<bool>() ? 1 : 0;
  const int64_t others = DeliverDeaths(to, ranges[1 - taken]);
  return others + DeliverOutput(to, ranges[taken], inputs[0]) +
         DeliverControls(to, ranges[2], false);
}

inline int64_t TokenRouter::Deliver(Iteration& to, const PlanNode& p, Tensor* outputs) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot)
    ready += DeliverOutput(to, *range++, outputs[slot]);
  return ready + DeliverControls(to, *range, false);
}

[[gnu::always_inline]] inline int64_t TokenRouter::DeliverOne(Iteration& to, const PlanNode& p,
                                                              Tensor& output) {
  const int64_t ready = DeliverOutput(to, {p.edges, p.controls}, output);
  if (p.controls == p.edges_end) [[likely]]
    return ready;
  return ready + DeliverControls(to, {p.controls, p.edges_end}, false);
}

inline int64_t TokenRouter::DeliverDeath(Iteration& to, const PlanNode& p) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot) ready += DeliverDeaths(to, *range++);
  return ready + DeliverControls(to, *range, true);
}

}  // namespace gyre::dataflow
