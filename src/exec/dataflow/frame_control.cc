#include "exec/dataflow/frame_control.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "exec/dataflow/origin.h"
#include "ops/memory.h"

namespace gyre::dataflow {
namespace {

// Loops and calls around a heavy node whose windows are opened for it.
constexpr int kMaxWidened = 16;
// Iterations in flight at first: one more than must be, so that what goes on need not wait.
constexpr int64_t kNarrow = 2;
// After so many iterations of a loop, what has been ready for longest runs first: cheap nodes wait
// on a stack, under those of the loop, which may never end. In functions that are called (those
// that recurse), that is after many more: a tree of calls, each with a loop, would be all in memory
// at once.
constexpr int64_t kFairEvery = 1024;
constexpr int64_t kFairEveryInCalls = int64_t{1} << 20;
// The same of loops on registers, in pauses.
constexpr int64_t kFairPausesInCalls = 16;

// Of an iteration that ends, the last of kFairEvery.
bool IsTurnOfOthers(const Iteration& iteration) {
  return iteration.frame->activation->depth == 0 ||
         iteration.number % kFairEveryInCalls == kFairEveryInCalls - 1;
}

// As many iterations of the loop may be live: what the loop says, lowered by a window given for the
// run (0: none).
int64_t Limit(const FramePlan& plan, int window) {
  const int64_t own = std::max<int64_t>(plan.frame.parallel_iterations, 1);
  return window > 0 ? std::min<int64_t>(own, window) : own;
}

// Where the loop was entered, for errors that no single node of it has made.
Ready EnterOf(const Frame& frame) {
  return {frame.parent_iteration,
          NodeIndex(static_cast<uint32_t>(frame.plan->frame.enters.front())), false};
}

}  // namespace

FrameControl::FrameControl(RunControl& run, std::atomic<int64_t>& queued, Pace& pace, int thread,
                           std::mt19937_64* explore)
    : router_(*this, queued),
      reporter_(thread),
      pools_(run.memory(), run.plan().num_pools()),
      run_(run),
      pace_(pace),
      explore_(explore) {}

void FrameControl::OutOfBudget(Ready where) { Fail(CallsDoNotFit(*run_.env().budget), where); }

void FrameControl::FreeMemory(ThreadPool* later) {
  pools_.FreeAll(later);
  router_.queues().Clear();
  ended_.clear();
}

void FrameControl::FireEnter(Ready ready, const PlanNode& p, Tensor value) {
  Iteration& from = *ready.iteration;
  const bool dead = !value.has_value();
  if (reporter_.is_observed() && !dead) {
    if (absl::Status status = reporter_.Report(ready, &value); !status.ok())
      return Fail(status, ready);
  }
  Frame* child = nullptr;
  {
    const auto lock = router_.LockIfShared(from.frame->mutex);
    const FunctionPlan& plan = *from.frame->activation->plan;
    std::atomic<Frame*>& place = from.children[plan.frames[p.target_frame.value()].child_index];
    child = place.load(std::memory_order_relaxed);
    if (child == nullptr) {
      child = OpenFrame(from, p.target_frame);
      if (child == nullptr) return OutOfBudget(ready);
      place.store(child, std::memory_order_relaxed);
    }
  }
  if (!dead) child->entered.store(true, std::memory_order_relaxed);
  Iteration& first = *child->first;
  if (p.is_constant) {
    const auto lock = router_.LockIfShared(child->mutex);
    child->invariants.push_back({ready.node(), value});
    SettleInvariants(*child);
    for (Iteration* i = child->oldest; i != nullptr; i = i->next.load(std::memory_order_relaxed)) {
      Tensor copy = value;
      Add(*i, dead ? router_.DeliverDeath(*i, p) : router_.DeliverOne(*i, p, copy));
    }
  } else {
    Add(first, dead ? router_.DeliverDeath(first, p) : router_.DeliverOne(first, p, value));
  }
  Add(first, -1);  // one Enter fewer to come
  Settle(from, 0);
}

// Death leaves a loop only if no later iteration starts. (Most Exits have a bit in their iteration
// instead: see Arrival::kOnlyExit.)
void FrameControl::NoteDeadExit(Iteration& iteration, NodeIndex exit) {
  Frame& frame = *iteration.frame;
  const auto lock = router_.LockIfShared(frame.mutex);
  if (&iteration == frame.newest) frame.dead_exits.push_back(exit);
}

// A loop hands out each value once. An Exit that is alive in two iterations would run its readers
// again with what is left of the first time.
void FrameControl::FireExit(Ready ready, const PlanNode& p, Tensor value) {
  Frame& frame = *ready.iteration->frame;
  if (!value.has_value()) {
    NoteDeadExit(*ready.iteration, ready.node());
    return Settle(*ready.iteration, 0);
  }
  {
    const auto lock = router_.LockIfShared(frame.mutex);
    if (frame.live_exits.empty()) frame.live_exits.resize(frame.plan->frame.exits.size());
    if (frame.live_exits[p.exit.value()]) {
      return Fail(absl::InvalidArgumentError(
                      "the loop hands out this value in more than one iteration: an Exit must "
                      "follow the side of its Switch that is taken when the loop ends"),
                  ready);
    }
    frame.live_exits[p.exit.value()] = true;
  }
  if (p.is_fetched || reporter_.is_observed()) {
    if (absl::Status status = reporter_.Report(ready, &value); !status.ok())
      return Fail(status, ready);
  }
  Add(*frame.parent_iteration, router_.DeliverOne(*frame.parent_iteration, p, value));
  Settle(*ready.iteration, 0);
}

void FrameControl::FireNextIteration(Ready ready, const PlanNode& p, Tensor value) {
  if (reporter_.is_observed()) {
    if (absl::Status status = reporter_.Report(ready, &value); !status.ok())
      return Fail(status, ready);
  }
  HandOver(*ready.iteration, p, std::move(value));
  Settle(*ready.iteration, 0);
}

void FrameControl::HandOver(Iteration& from, const PlanNode& p, Tensor&& value) {
  Iteration* next = from.next.load(std::memory_order_acquire);
  if (next == nullptr) {
    Frame& frame = *from.frame;
    const auto lock = router_.LockIfShared(frame.mutex);
    next = from.next.load(std::memory_order_relaxed);
    if (next == nullptr) {
      if (frame.live >= frame.window) {
        frame.waiting.push_back({from.nodes.IndexOf(p), std::move(value)});
      } else {
        next = NewIteration(frame, 1);
        if (next == nullptr) return OutOfBudget(EnterOf(frame));
      }
    }
  }
  if (next != nullptr) Add(*next, router_.DeliverOne(*next, p, value));
}

void FrameControl::PassDeathOn(Iteration& from, const PlanNode& p) {
  Frame& frame = *from.frame;
  Iteration* next = nullptr;
  {
    const auto lock = router_.LockIfShared(frame.mutex);
    next = from.next.load(std::memory_order_relaxed);
    if (next == nullptr) frame.dead_variables.push_back(from.nodes.IndexOf(p));
  }
  if (next != nullptr) Add(*next, router_.DeliverDeath(*next, p));
}

// Requirement: the lock of parent's frame is held, if shared.
Frame* FrameControl::OpenFrame(Iteration& parent, FrameIndex index) {
  Frame* const frame = pools_.MakeFrame();
  if (frame == nullptr) return nullptr;
  const FramePlan& plan = parent.frame->activation->plan->frames[index.value()];
  frame->plan = &plan;
  frame->activation = parent.frame->activation;
  frame->parent = parent.frame;
  frame->parent_iteration = &parent;
  const int64_t limit = Limit(plan, run_.settings().parallel.window);
  if (explore_ && run_.settings().parallel.window == 0) {
    frame->window = 1 + static_cast<int64_t>((*explore_)() % static_cast<uint64_t>(limit));
  } else {
    const bool wide = run_.settings().parallel.window > 0 ||
                      (run_.may_share() && plan.is_heavy.load(std::memory_order_relaxed));
    frame->window = wide ? limit : std::min<int64_t>(limit, kNarrow);
  }
  frame->first = NewIteration(*frame, plan.num_enters);
  if (frame->first == nullptr) return nullptr;
  parent.outstanding.fetch_add(1, std::memory_order_relaxed);
  return frame;
}

// Once every constant Enter has arrived alive, later iterations start with their values in place.
// Requirement: as of NewIteration.
void FrameControl::SettleInvariants(Frame& frame) {
  const FramePlan& plan = *frame.plan;
  if (!plan.has_resident || frame.invariants.size() < static_cast<size_t>(plan.num_constant_enters))
    return;
  for (const Token& token : frame.invariants) {
    if (!token.value.has_value()) return frame.resident.clear();
    const Iteration& any = *frame.oldest;
    const PlanNode& p = any.nodes[token.source];
    for (uint32_t i = p.edges; i < p.controls; ++i)
      frame.resident.emplace_back(any.edges[i].slot, token.value);
  }
  frame.is_resident = true;
}

int64_t FrameControl::DeliverInvariants(Frame& frame, Iteration& to) {
  int64_t ready = 0;
  if (frame.is_resident) {
    for (const auto& [slot, value] : frame.resident) router_.Put(to, slot, Tensor(value));
    for (const NodeIndex root : frame.plan->resident_roots) ready += router_.Push(to, root, false);
    return ready;
  }
  for (const Token& token : frame.invariants) {
    const PlanNode& p = to.nodes[token.source];
    Tensor copy = token.value;
    ready += copy.has_value() ? router_.DeliverOne(to, p, copy) : router_.DeliverDeath(to, p);
  }
  return ready;
}

// The iteration after the newest, with all that waits for it. `outstanding`: what it waits for
// beside its nodes. Requirement: the frame's lock is held, if shared.
Iteration* FrameControl::NewIteration(Frame& frame, int64_t outstanding) {
  Iteration* const iteration = pools_.MakeIteration(frame);
  if (iteration == nullptr) return nullptr;
  iteration->number = frame.newest == nullptr ? 0 : frame.newest->number + 1;
  frame.dead_exits.clear();
  int64_t ready = 0;
  for (const FedInput& fed : frame.plan->fed) {
    if (fed.edge.arrival == Arrival::kMergeValue) {
      ready += router_.DeliverValue(*iteration, fed.edge, Tensor(run_.feed(fed.feed)));
    } else {
      iteration->inputs[fed.edge.slot] = run_.feed(fed.feed);
    }
  }
  for (const NodeIndex root : frame.plan->roots) ready += router_.Push(*iteration, root, false);
  for (Token& token : frame.waiting)
    ready += router_.DeliverOne(*iteration, iteration->nodes[token.source], token.value);
  frame.waiting.clear();
  for (const NodeIndex variable : frame.dead_variables)
    ready += router_.DeliverDeath(*iteration, iteration->nodes[variable]);
  frame.dead_variables.clear();
  ready += DeliverInvariants(frame, *iteration);
  iteration->outstanding.store(outstanding + ready, std::memory_order_relaxed);
  if (frame.newest == nullptr) {
    frame.oldest = iteration;
  } else {
    frame.newest->next.store(iteration, std::memory_order_release);
  }
  frame.newest = iteration;
  ++frame.live;
  return iteration;
}

void FrameControl::PutBack(Ready ready, int64_t pauses) {
  ReadyQueues& queues = router_.queues();
  queues.stack().Push(ready.iteration, ready.node(), ready.dead());
  pace_.LookNow();
  if (ready.iteration->frame->activation->depth == 0 || pauses % kFairPausesInCalls == 0)
    queues.LetOldestRun();
}

// Nothing else will happen in the iteration: who waits elsewhere for what was not sent is told.
// They are transfers now that have died; returns how many.
int64_t FrameControl::SendWhatIsLeft(Iteration& iteration) {
  int64_t ready = 0;
  for (const auto& [node, count] : iteration.frame->plan->sends) {
    PendingCounts::Word& word = iteration.counts[count];
    if (PendingCounts::HasFired(word)) continue;
    PendingCounts::MarkFired(word);
    ready += router_.Push(iteration, node, /*dead=*/true);
  }
  return ready;
}

// The iteration is done: so may be the next one, then the frame, then the iteration around it.
void FrameControl::EndIteration(Iteration* iteration) {
  while (true) {
    Frame& frame = *iteration->frame;
    if (const int64_t left = SendWhatIsLeft(*iteration); left > 0) {
      Change(*iteration, left);
      return;
    }
    if (frame.parent == nullptr) {
      ended_.push_back(frame.activation);
      return;
    }
    Iteration* next = nullptr;
    {
      const auto lock = router_.LockIfShared(frame.mutex);
      --frame.live;
      // Values held back go on before the frame can look empty.
      if (!frame.waiting.empty() && frame.live < frame.window &&
          NewIteration(frame, 1) == nullptr) {
        return OutOfBudget(EnterOf(frame));
      }
      next = iteration->next.load(std::memory_order_relaxed);
      frame.oldest = next;
    }
    if (iteration->number % kFairEvery == kFairEvery - 1 && IsTurnOfOthers(*iteration)) [[unlikely]]
      router_.queues().LetOldestRun();
    const uint64_t dead_exits = iteration->dead_exits.load(std::memory_order_relaxed);
    pools_.Recycle(iteration);
    int64_t change = -1;
    iteration = next != nullptr ? next : EndFrame(&frame, dead_exits, &change);
    if (!Change(*iteration, change)) return;
  }
}

// Returns the iteration that the frame was entered from, which has `change` more to wait for.
// `dead_exits`: of its last iteration.
Iteration* FrameControl::EndFrame(Frame* frame, uint64_t dead_exits, int64_t* change) {
  Iteration& outside = *frame->parent_iteration;
  for (; dead_exits != 0; dead_exits &= dead_exits - 1) {
    const NodeId exit = frame->plan->frame.exits[std::countr_zero(dead_exits)];
    *change += router_.DeliverDeath(outside, outside.nodes[NodeIndex(static_cast<uint32_t>(exit))]);
  }
  for (const NodeIndex exit : frame->dead_exits)
    *change += router_.DeliverDeath(outside, outside.nodes[exit]);
  outside.children[frame->plan->child_index].store(nullptr, std::memory_order_relaxed);
  pools_.Recycle(frame);
  return &outside;
}

void FrameControl::Widen(Frame* frame) {
  if (run_.settings().parallel.window > 0) return;
  for (int i = 0; i < kMaxWidened; ++i) {
    if (frame->parent == nullptr) {
      if (frame->activation->caller.iteration == nullptr) return;
      frame = frame->activation->caller.iteration->frame;
      continue;
    }
    const int64_t limit = Limit(*frame->plan, 0);
    frame->plan->is_heavy.store(true, std::memory_order_relaxed);
    {
      const auto lock = router_.LockIfShared(frame->mutex);
      frame->window = limit;
      if (!frame->waiting.empty() && frame->live < limit && NewIteration(*frame, 1) == nullptr)
        return OutOfBudget(EnterOf(*frame));
    }
    frame = frame->parent;
  }
}

void FrameControl::StartCall(Ready ready, const PlanNode& p) {
  Iteration& iteration = *ready.iteration;
  const NodeInfo& info = InfoOf(ready);
  Tensor* const inputs = &iteration.inputs[p.first_input];
  std::vector<Tensor> args(p.num_inputs - info.first_arg);
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    if (i >= info.first_arg) args[i - info.first_arg] = std::move(inputs[i]);
    DropValue(inputs[i]);
  }
  StartActivation(*info.callee, std::move(args), ready);
}

void FrameControl::StartActivation(const FunctionPlan& plan, std::vector<Tensor> args,
                                   Ready caller) {
  if (!plan.error.ok()) return Fail(plan.error, caller);
  Activation* const activation = pools_.MakeActivation();
  Frame* const frame = activation == nullptr ? nullptr : pools_.MakeFrame();
  if (frame == nullptr) return OutOfBudget(caller);
  activation->plan = &plan;
  activation->caller = caller;
  activation->args = std::move(args);
  activation->results.resize(plan.num_results);
  activation->root = frame;
  activation->tag = Tag();
  activation->started = reporter_.started();
  activation->depth = 0;
  if (caller.iteration != nullptr) {
    activation->depth = caller.iteration->frame->activation->depth + 1;
    if (run_.plan().uses_tags() || run_.is_watched()) activation->tag = CalleeTag(caller);
  }
  frame->plan = &plan.frames[0];
  frame->activation = activation;
  for (const auto& [feed, position] : plan.fed_results)
    activation->results[position] = run_.feed(feed);
  Iteration* const root = NewIteration(*frame, 1);
  if (root == nullptr) return OutOfBudget(caller);
  Add(*root, -1);
}

void FrameControl::EndActivation(Activation* activation) {
  const Ready caller = activation->caller;
  std::vector<Tensor>& results = activation->results;
  const Function& function = *activation->plan->source;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].has_value()) continue;
    const std::string name =
        i < function.results.size() ? function.results[i].name : absl::StrCat(i);
    return Fail(absl::InvalidArgumentError(absl::StrCat(
                    "Retval[", i, "] does not have value",
                    caller.iteration == nullptr
                        ? ": what is fetched lies on a path that was not taken, or was never "
                          "reached"
                        : absl::StrCat(": result ", name, " of function ", function.name,
                                       " lies on a path that was not taken"))),
                caller);
  }
  if (caller.iteration == nullptr) {
    std::vector<Tensor> made = std::move(results);
    pools_.Recycle(activation);
    return run_.Succeed(std::move(made));
  }
  const PlanNode& p = caller.plan();
  for (uint32_t i = 0; i < p.num_outputs; ++i) {
    const DType declared = p.node->signature.outputs[i].dtype;
    if (results[i].dtype() == declared) continue;
    return Fail(
        BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is ",
                              DTypeName(results[i].dtype()), ", not ", DTypeName(declared))),
        caller);
  }
  reporter_.SetStarted(activation->started);
  Finish(caller, p, results.data());
  pools_.Recycle(activation);
}

}  // namespace gyre::dataflow
