#include "exec/dataflow/token_router.h"

#include "exec/dataflow/frame_control.h"

namespace gyre::dataflow {

int64_t TokenRouter::DeliverToAll(Iteration& to, Range range, Tensor& value) {
  if (!value.has_value()) return DeliverDeaths(to, range);
  const Edge* edge = to.edges + range.first;
  const Edge* const end = to.edges + range.second;
  if (edge == end) {
    DropValue(value);
    return 0;
  }
  int64_t ready = 0;
  for (; edge != end - 1; ++edge) ready += DeliverValue(to, *edge, Tensor(value));
  return ready + DeliverValue(to, *edge, std::move(value));  // the last reader may own the value
}

int64_t TokenRouter::DeliverToMerge(Iteration& to, const Edge& edge, Tensor&& value) {
  PendingCounts::Word& word = to.counts[edge.count];
  const uint32_t position = edge.slot - to.nodes[edge.node].first_input;
  if (!PendingCounts::Claim(word, position, shared_)) {  // the first live input counts
    DropValue(value);
    return 0;
  }
  Put(to, edge.slot, std::move(value));
  const auto outcome = PendingCounts::Store(word, shared_);
  return outcome == PendingCounts::Outcome::kWait ? 0 : Push(to, edge.node, false);
}

// Instead of firing the node: its readers get the value at once.
int64_t TokenRouter::DeliverThrough(Iteration& to, const Edge& edge, Tensor&& value) {
  const PlanNode& p = to.nodes[edge.node];
  const bool passes = passes_through_ && !p.is_fetched;
  switch (p.opcode) {
    case Opcode::kNextIteration:
      if (!passes) break;
      frames_.HandOver(to, p, std::move(value));
      return 0;
    case Opcode::kMerge:
      if (!passes) return DeliverToMerge(to, edge, std::move(value));
      PendingCounts::MarkFired(to.counts[edge.count]);
      return DeliverMerged(to, p, value, edge.slot - p.first_input);
    case Opcode::kLoopCond:
      if (!passes || !value.is_inline()) break;
      return (p.opens_gate ? OpenGate(to, value.scalar<bool>()) : 0) + DeliverOne(to, p, value);
    case Opcode::kSwitch: {
      Put(to, edge.slot, std::move(value));
      const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
      if (outcome == PendingCounts::Outcome::kWait) return 0;
      Tensor* const inputs = &to.inputs[p.first_input];
      if (outcome == PendingCounts::Outcome::kFire && passes && inputs[1].is_inline())
        return DeliverSwitched(to, p, inputs);
      return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
    }
    default:
      break;
  }
  Put(to, edge.slot, std::move(value));
  return Push(to, edge.node, false);
}

int64_t TokenRouter::DeliverDead(Iteration& to, const Edge& edge) {
  auto outcome = PendingCounts::Outcome::kWait;
  switch (edge.arrival) {
    case Arrival::kOnly:
      return Push(to, edge.node, edge.kills);
    case Arrival::kOnlyExit:
      to.dead_exits.fetch_or(uint64_t{1} << edge.exit.value(), std::memory_order_relaxed);
      return 0;
    case Arrival::kCounted:
      outcome = PendingCounts::Arrive(to.counts[edge.count], edge.kills, shared_);
      break;
    case Arrival::kMergeValue:
      outcome = PendingCounts::ArriveDead(to.counts[edge.count], shared_);
      break;
    case Arrival::kThrough:
      switch (to.nodes[edge.node].opcode) {
        case Opcode::kMerge:
          outcome = PendingCounts::ArriveDead(to.counts[edge.count], shared_);
          break;
        case Opcode::kSwitch:
          outcome = PendingCounts::Arrive(to.counts[edge.count], edge.kills, shared_);
          break;
        default:
          return Push(to, edge.node, edge.kills);
      }
      break;
    case Arrival::kMergeControl:  // has arrived, that is all
      outcome = PendingCounts::ArriveControl(to.counts[edge.count], shared_);
      break;
  }
  if (outcome == PendingCounts::Outcome::kWait) return 0;
  return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

int64_t TokenRouter::DeliverControl(Iteration& to, const Edge& edge, bool dead) {
  if (dead || edge.arrival == Arrival::kMergeControl) return DeliverDead(to, edge);
  if (edge.arrival <= Arrival::kOnlyExit) return Push(to, edge.node, false);
  const auto outcome = PendingCounts::Arrive(to.counts[edge.count], false, shared_);
  if (outcome == PendingCounts::Outcome::kWait) return 0;
  return Push(to, edge.node, outcome == PendingCounts::Outcome::kDie);
}

int64_t TokenRouter::OpenGate(Iteration& iteration, bool alive) {
  // A loop on a path not taken runs nothing, fed or not.
  alive &= iteration.frame->entered.load(std::memory_order_relaxed);
  int64_t ready = 0;
  for (const NodeIndex node : iteration.frame->plan->gated_roots)
    ready += Push(iteration, node, !alive);
  return ready;
}

}  // namespace gyre::dataflow
