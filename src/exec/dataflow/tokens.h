// Where values and deadness go, along the edges of a Plan. Defined in a header because it is what a
// run spends its time with: the files that fire nodes and move frames take it in whole.
#pragma once

#include <utility>

#include "exec/dataflow/worker.h"

namespace gyre::dataflow {

inline int64_t Worker::Push(Iteration& to, uint32_t node, bool dead) {
  if (may_share_ && !dead && IsHeavy(to, node)) {
    fresh_.push_back({&to, node, dead});
  } else {
    stack_.push_back({&to, node, dead});
  }
  return 1;
}

inline int64_t Worker::DeliverValue(Iteration& to, const Edge& edge, Tensor&& value) {
  switch (edge.arrival) {
    case Arrival::kOnly:
      to.inputs[edge.slot] = std::move(value);
      return Push(to, edge.node, false);
    case Arrival::kCounted: {
      to.inputs[edge.slot] = std::move(value);
      const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
      return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
    }
    default: {
      PendingCounts::Word& word = to.counts[edge.count];
      const uint32_t position = edge.slot - to.nodes[edge.node].first_input;
      if (!PendingCounts::Claim(word, position, shared_)) return 0;  // the first live input counts
      to.inputs[edge.slot] = std::move(value);
      const auto outcome = PendingCounts::Store(word, shared_);
      return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, false);
    }
  }
}

inline int64_t Worker::DeliverDead(Iteration& to, const Edge& edge) {
  switch (edge.arrival) {
    case Arrival::kOnly:
      return Push(to, edge.node, edge.kills);
    case Arrival::kCounted: {
      const auto outcome = PendingCounts::Arrive(to.counts[edge.count], edge.kills, shared_);
      return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
    }
    default: {
      const auto outcome = PendingCounts::ArriveDead(to.counts[edge.count], shared_);
      return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
    }
  }
}

inline int64_t Worker::DeliverControl(Iteration& to, const Edge& edge, bool dead) {
  if (edge.arrival != Arrival::kMergeControl) {
    if (dead) return DeliverDead(to, edge);
    if (edge.arrival == Arrival::kOnly) return Push(to, edge.node, false);
    const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
    return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
  }
  // A dead control input does not kill a Merge: it has arrived, that is all.
  const auto outcome = PendingCounts::ArriveControl(to.counts[edge.count], shared_);
  return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

inline int64_t Worker::DeliverOutput(Iteration& to, Range range, Tensor& value) {
  const Edge* edge = to.edges + range.first;
  const Edge* const end = to.edges + range.second;
  int64_t ready = 0;
  if (!value.has_value()) {
    for (; edge != end; ++edge) ready += DeliverDead(to, *edge);
    return ready;
  }
  if (edge == end) {
    value = Tensor();
    return 0;
  }
  for (; edge != end - 1; ++edge) ready += DeliverValue(to, *edge, Tensor(value));
  return ready + DeliverValue(to, *edge, std::move(value));  // the last reader may own the value
}

inline int64_t Worker::DeliverControls(Iteration& to, Range range, bool dead) {
  int64_t ready = 0;
  for (uint32_t i = range.first; i != range.second; ++i)
    ready += DeliverControl(to, to.edges[i], dead);
  return ready;
}

inline int64_t Worker::Deliver(Iteration& to, const PlanNode& p, Tensor* outputs) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot)
    ready += DeliverOutput(to, *range++, outputs[slot]);
  return ready + DeliverControls(to, *range, false);
}

inline int64_t Worker::DeliverDeath(Iteration& to, const PlanNode& p) {
  const Range* range = to.ranges + p.first_range;
  int64_t ready = 0;
  for (uint32_t slot = 0; slot < p.num_outputs; ++slot, ++range) {
    for (uint32_t i = range->first; i != range->second; ++i)
      ready += DeliverDead(to, to.edges[i]);
  }
  return ready + DeliverControls(to, *range, true);
}

inline void Worker::Add(Iteration& iteration, int64_t outstanding) {
  if (shared_) {
    if (iteration.outstanding.fetch_add(outstanding, std::memory_order_acq_rel) + outstanding == 0)
      EndIteration(&iteration);
    return;
  }
  const int64_t now = iteration.outstanding.load(std::memory_order_relaxed) + outstanding;
  iteration.outstanding.store(now, std::memory_order_relaxed);
  if (now == 0) EndIteration(&iteration);
}

inline void Worker::Settle(Iteration& iteration, int64_t ready) {
  if (ready != 1) Add(iteration, ready - 1);
}

inline void Worker::Finish(const Ready& ready, const PlanNode& p, Tensor* outputs) {
  if (p.is_fetched) [[unlikely]] {
    if (absl::Status status = KeepFetched(ready, outputs); !status.ok()) return Fail(status, ready);
  }
  Settle(*ready.iteration, Deliver(*ready.iteration, p, outputs));
}

}  // namespace gyre::dataflow
