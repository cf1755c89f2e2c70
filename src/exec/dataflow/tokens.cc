#include "exec/dataflow/tokens.h"

namespace gyre::dataflow {

int64_t Worker::DeliverToAll(Iteration& to, Range range, Tensor& value) {
  if (!value.has_value()) return DeliverDeaths(to, range);
  const Edge* edge = to.edges + range.first;
  const Edge* const end = to.edges + range.second;
  if (edge == end) {
    Clear(value);
    return 0;
  }
  int64_t ready = 0;
  for (; edge != end - 1; ++edge) ready += DeliverValue(to, *edge, Tensor(value));
  return ready + DeliverValue(to, *edge, std::move(value));  // the last reader may own the value
}

int64_t Worker::DeliverToMerge(Iteration& to, const Edge& edge, Tensor&& value) {
  PendingCounts::Word& word = to.counts[edge.count];
  const uint32_t position = edge.slot - to.nodes[edge.node].first_input;
  if (!PendingCounts::Claim(word, position, shared_)) {  // the first live input counts
    Clear(value);
    return 0;
  }
  Put(to, edge.slot, std::move(value));
  const auto outcome = PendingCounts::Store(word, shared_);
  return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, false);
}

int64_t Worker::DeliverDead(Iteration& to, const Edge& edge) {
  auto outcome = PendingCounts::Outcome::kWait;
  switch (edge.arrival) {
    case Arrival::kOnly:
      return Push(to, edge.node, edge.kills);
    case Arrival::kOnlyExit:
      to.dead_exits.fetch_or(uint64_t{1} << edge.count, std::memory_order_relaxed);
      return 0;
    case Arrival::kCounted:
      outcome = PendingCounts::Arrive(to.counts[edge.count], edge.kills, shared_);
      break;
    case Arrival::kMergeValue:
      outcome = PendingCounts::ArriveDead(to.counts[edge.count], shared_);
      break;
    case Arrival::kMergeControl:  // has arrived, that is all
      outcome = PendingCounts::ArriveControl(to.counts[edge.count], shared_);
      break;
  }
  if (outcome == PendingCounts::Outcome::kWait) return 0;
  return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

int64_t Worker::DeliverControl(Iteration& to, const Edge& edge, bool dead) {
  if (dead || edge.arrival == Arrival::kMergeControl) return DeliverDead(to, edge);
  if (edge.arrival <= Arrival::kOnlyExit) return Push(to, edge.node, false);
  const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
  if (outcome == PendingCounts::Outcome::kWait) return 0;
  return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

}  // namespace gyre::dataflow
