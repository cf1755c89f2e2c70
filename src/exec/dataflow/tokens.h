// Where values and deadness go, along the edges of a Plan. Defined in a header because it is what a
// run spends its time with: the files that fire nodes and move frames take it in whole. What is
// rare stands in tokens.cc.
#pragma once

#include <new>
#include <utility>

#include "exec/dataflow/worker.h"

namespace gyre::dataflow {

[[gnu::always_inline]] inline int64_t Worker::Push(Iteration& to, uint32_t node, bool dead) {
  if (queues_ && !dead && IsHeavy(to, node)) [[unlikely]] {
    fresh_.emplace_back(&to, node, dead);
  } else {
    stack_.Push(&to, node, dead);
  }
  return 1;
}

// A slot holds nothing that needs dropping: a node that has fired, or died, has let go of its
// inputs.
[[gnu::always_inline]] inline void Worker::Put(Iteration& to, uint32_t slot, Tensor&& value) {
  new (to.inputs + slot) Tensor(std::move(value));
}

[[gnu::always_inline]] inline int64_t Worker::DeliverValue(Iteration& to, const Edge& edge,
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

[[gnu::always_inline]] inline int64_t Worker::DeliverOutput(Iteration& to, Range range,
                                                            Tensor& value) {
  if (range.second - range.first == 1 && value.has_value()) [[likely]]
    return DeliverValue(to, to.edges[range.first], std::move(value));
  return DeliverToAll(to, range, value);
}

inline int64_t Worker::DeliverControls(Iteration& to, Range range, bool dead) {
  int64_t ready = 0;
  for (uint32_t i = range.first; i != range.second; ++i)
    ready += DeliverControl(to, to.edges[i], dead);
  return ready;
}

inline int64_t Worker::DeliverDeaths(Iteration& to, Range range) {
  int64_t ready = 0;
  for (uint32_t i = range.first; i != range.second; ++i) {
    const Edge& edge = to.edges[i];
    if (edge.arrival == Arrival::kOnlyExit && !shared_) {  // in every iteration but the last
      to.dead_exits.store(to.dead_exits.load(std::memory_order_relaxed) | uint64_t{1} << edge.count,
                          std::memory_order_relaxed);
    } else {
      ready += DeliverDead(to, edge);
    }
  }
  return ready;
}

// Of a Merge, with the input that has claimed it; of a Switch, with its inputs. Neither is fetched
// or observed, and the predicate lies in place.
inline int64_t Worker::DeliverMerged(Iteration& to, const PlanNode& p, Tensor& value,
                                     uint32_t position) {
  const Range* const ranges = to.ranges + p.first_range;
  int64_t ready = DeliverOutput(to, ranges[0], value);
  if (ranges[1].first != ranges[1].second) {
    Tensor index = Tensor::Scalar(static_cast<int32_t>(position));
    ready += DeliverOutput(to, ranges[1], index);
  }
  return ready + DeliverControls(to, ranges[2], false);
}

inline int64_t Worker::DeliverSwitched(Iteration& to, const PlanNode& p, Tensor* inputs) {
  const Range* const ranges = to.ranges + p.first_range;
  const int taken = inputs[1].scalar<bool>() ? 1 : 0;
  const int64_t others = DeliverDeaths(to, ranges[1 - taken]);
  return others + DeliverOutput(to, ranges[taken], inputs[0]) +
         DeliverControls(to, ranges[2], false);
}

inline int64_t Worker::Deliver(Iteration& to, const PlanNode& p, Tensor* outputs) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot)
    ready += DeliverOutput(to, *range++, outputs[slot]);
  return ready + DeliverControls(to, *range, false);
}

// Of a node with one output.
[[gnu::always_inline]] inline int64_t Worker::DeliverOne(Iteration& to, const PlanNode& p,
                                                         Tensor& output) {
  const int64_t ready = DeliverOutput(to, {p.edges, p.controls}, output);
  if (p.controls == p.edges_end) [[likely]]
    return ready;
  return ready + DeliverControls(to, {p.controls, p.edges_end}, false);
}

inline int64_t Worker::DeliverDeath(Iteration& to, const PlanNode& p) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot) ready += DeliverDeaths(to, *range++);
  return ready + DeliverControls(to, *range, true);
}

// Changes what `iteration` waits for; true when it is done.
[[gnu::always_inline]] inline bool Worker::Change(Iteration& iteration, int64_t by) {
  if (shared_) [[unlikely]]
    return iteration.outstanding.fetch_add(by, std::memory_order_acq_rel) + by == 0;
  const int64_t now = iteration.outstanding.load(std::memory_order_relaxed) + by;
  iteration.outstanding.store(now, std::memory_order_relaxed);
  return now == 0;
}

[[gnu::always_inline]] inline void Worker::Add(Iteration& iteration, int64_t outstanding) {
  if (Change(iteration, outstanding)) EndIteration(&iteration);
}

[[gnu::always_inline]] inline void Worker::Settle(Iteration& iteration, int64_t ready) {
  if (ready != 1) Add(iteration, ready - 1);
}

inline void Worker::Finish(Ready ready, const PlanNode& p, Tensor* outputs) {
  if (p.is_fetched || is_observed_) [[unlikely]] {
    if (absl::Status status = Show(ready, p, outputs); !status.ok()) return Fail(status, ready);
  }
  Settle(*ready.iteration, Deliver(*ready.iteration, p, outputs));
}

// As Finish, of a node with one output.
[[gnu::always_inline]] inline void Worker::FinishOne(Ready ready, const PlanNode& p,
                                                     Tensor& output) {
  if (p.is_fetched || is_observed_) [[unlikely]]
    return Finish(ready, p, &output);
  Settle(*ready.iteration, DeliverOne(*ready.iteration, p, output));
}

}  // namespace gyre::dataflow
