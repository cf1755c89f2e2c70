#include "exec/dataflow/worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/attention.h"
#include "base/env.h"
#include "base/out_of_memory.h"
#include "exec/dataflow/origin.h"

namespace gyre::dataflow {
namespace {

// Nodes between two looks at the clock and the budget. Prime: they fall on all nodes of a loop.
constexpr int kHouseKeepingEvery = 61;
// Of those looks, one in so many times a node that has been cheap so far.
constexpr int kTimedEvery = 8;

int64_t Now() { return SystemClock().NowNanos(); }

}  // namespace

Worker::Worker(Run& run, int index, std::unique_ptr<std::mt19937_64> explore)
    : frames_(run, run.queued(), pace_, index, explore.get()),
      kernels_(run, frames_, explore.get()),
      run_(run),
      index_(index),
      may_share_(run.may_share()),
      explore_(std::move(explore)) {}

void Worker::FreeMemory(ThreadPool* later) {
  frames_.FreeMemory(later);
  kernels_.DropOutputs();
}

void Worker::Begin(bool shared) {
  frames_.router().SetShared(shared);
  frames_.router().SetPassesThrough(run_.observer() == nullptr && !explore_);
  frames_.router().queues().SetQueuesHeavy(may_share_ && run_.plan().has_heavy());
  frames_.reporter().Begin(run_.observer());
  kernels_.Begin();
}

void Worker::WorkToTheEnd() {
  Begin(false);
  if (explore_) explore_->seed(run_.settings().testing.schedule_seed + run_.env().run_id);
  FailIfOutOfMemory([&] {
    frames_.StartMain(run_.plan().main());
    do {
      Drain();
    } while (run_.WaitForWork());
  });
  while (run_.WaitForWork()) {  // for those who still work on what has failed
  }
}

void Worker::Help(int64_t asked_nanos) {
  Begin(true);
  FailIfOutOfMemory([&] {
    if (run_.observer() != nullptr) run_.observer()->OnJoined(index_, asked_nanos, Now());
    Drain();
  });
  kernels_.Flush();
}

template <typename Work>
void Worker::FailIfOutOfMemory(const Work& work) {
  const absl::Status status = CatchOutOfMemory(kThisRun, [&] {
    work();
    return absl::OkStatus();
  });
  if (!status.ok()) frames_.Fail(status, Ready());
}

[[gnu::always_inline]] inline void Worker::FireArg(Ready ready, const PlanNode& p) {
  const NodeInfo& info = InfoOf(ready);
  std::vector<Tensor>& args = ready.iteration->frame->activation->args;
  if (info.arg_index < 0 || info.arg_index >= static_cast<int>(args.size())) {
    return frames_.Fail(
        absl::InvalidArgumentError(absl::StrCat("there is no argument ", info.arg_index)), ready);
  }
  Tensor value = info.owns_arg ? std::move(args[info.arg_index]) : Tensor(args[info.arg_index]);
  frames_.Finish(ready, p, &value);
}

[[gnu::always_inline]] inline void Worker::Fire(Ready ready) {
  Iteration& iteration = *ready.iteration;
  const PlanNode& p = ready.plan();
  if (ready.dead() && !p.runs_dead) return FireDead(ready, p);
  const OutputReporter& reporter = frames_.reporter();
  if (reporter.is_observed()) [[unlikely]]
    frames_.reporter().SetStarted(Now());
  TokenRouter& router = frames_.router();
  Tensor* const inputs = &iteration.inputs[p.first_input];
  switch (p.opcode) {
    case Opcode::kIdentity:
      return frames_.FinishOne(ready, p, inputs[0]);
    case Opcode::kConst: {
      Tensor value = *p.constant;
      return frames_.FinishOne(ready, p, value);
    }
    case Opcode::kNoOp:
      return frames_.Finish(ready, p, nullptr);
    case Opcode::kSwitch: {
      if (!inputs[1].is_inline() || p.is_fetched || reporter.is_observed()) break;
      return frames_.Settle(iteration, router.DeliverSwitched(iteration, p, inputs));
    }
    case Opcode::kMerge: {
      const uint32_t position = PendingCounts::ClaimedBy(iteration.counts[p.count]);
      if (p.is_fetched || reporter.is_observed()) {
        Tensor outputs[2] = {std::move(inputs[position]),
                             Tensor::Scalar(static_cast<int32_t>(position))};
        return frames_.Finish(ready, p, outputs);
      }
      return frames_.Settle(iteration,
                            router.DeliverMerged(iteration, p, inputs[position], position));
    }
    case Opcode::kToBool:
      if (!inputs[0].is_inline() || inputs[0].dtype() != DType::kBool) break;
      return frames_.FinishOne(ready, p, inputs[0]);
    case Opcode::kPlainKernel:
      if (may_share_ && KernelRunner::NeedsTiming(p)) break;
      // Handed on here: what this worker itself owns is found without going through a pointer.
      if (!kernels_.RunPlain(ready, p, inputs)) return;
      return frames_.FinishOne(ready, p, kernels_.plain_output());
    case Opcode::kEnter:
      return frames_.FireEnter(ready, p, std::move(inputs[0]));
    case Opcode::kExit:
      return frames_.FireExit(ready, p, std::move(inputs[0]));
    case Opcode::kNextIteration:
      return frames_.FireNextIteration(ready, p, std::move(inputs[0]));
    case Opcode::kLoopCond: {
      if (!inputs[0].is_inline()) break;
      const int64_t gated = p.opens_gate ? router.OpenGate(iteration, inputs[0].scalar<bool>()) : 0;
      if (gated > 0) frames_.Add(iteration, gated);
      return frames_.FinishOne(ready, p, inputs[0]);
    }
    case Opcode::kCall:
      return frames_.StartCall(ready, p);
    case Opcode::kArg:
      return FireArg(ready, p);
    case Opcode::kRetval:
      DropValue(inputs[0]);
      return frames_.Finish(ready, p, nullptr);
    case Opcode::kAsyncKernel:
      return kernels_.RunAsync(ready, p);
    case Opcode::kUnavailable:
      return frames_.Fail(InfoOf(ready).unavailable, ready);
    case Opcode::kSwitchN:
    case Opcode::kKernel:
    case Opcode::kLoop:
      break;
  }
  kernels_.Run(ready, p, may_share_ && KernelRunner::NeedsTiming(p));
}

void Worker::Drain() {
  ReadyStack& stack = queues().stack();
  while (true) {
    if (run_.NeedsAttention()) {
      if (run_.HasEnded()) return;
      const bool later = explore_ && !stack.empty() && (*explore_)() % 2 == 0;
      if (run_.HasAsyncDone() && !later) kernels_.CompleteAsync();
    }
    queues().QueueNewHeavy();
    if (Activation* const ended = frames_.TakeEnded(); ended != nullptr) {
      frames_.EndActivation(ended);
    } else if (!stack.empty()) {
      FireStack();
    } else if (Ready ready; may_share_ && TakeQueued(&ready)) {
      HouseKeeping(ready);
      Fire(ready);
      frames_.reporter().SetTaken(false);
    } else {
      return;
    }
  }
}

// Fires what is ready here, until there is nothing, or it is time to look at everything else.
void Worker::FireStack() {
  ReadyStack& stack = queues().stack();
  do {
    if (explore_) [[unlikely]]
      stack.Shuffle(*explore_);
    const Ready ready = stack.Pop();
    if (pace_.IsTimeToLook()) {  // counts on from one stretch to the next: each may be short
      pace_.LookAfter(explore_ ? 1 : kHouseKeepingEvery);
      HouseKeeping(ready);
      if (run_.HasEnded()) return;
      if (!may_share_ || --until_timed_ > 0) return Fire(ready);
      until_timed_ = kTimedEvery;
      const PlanNode& p = ready.plan();
      const bool is_timed = (p.opcode == Opcode::kPlainKernel || p.opcode == Opcode::kKernel) &&
                            !ready.dead() && !frames_.reporter().is_observed();
      return is_timed ? kernels_.Run(ready, p, true) : Fire(ready);
    }
    Fire(ready);
  } while (!stack.empty());
}

// A heavy node, this thread's or another's. Before it runs, later iterations of the loops around it
// are let loose: they may hold more of its kind, for other threads.
bool Worker::TakeQueued(Ready* ready) {
  ReadyQueues* from = &queues();
  bool found = from->TakeDeepest(ready);
  const int others = frames_.router().shared() ? run_.num_workers() - 1 : 0;
  for (int i = 1; !found && i <= others; ++i) {
    from = run_.QueuesBehind(index_, i);
    found = from != nullptr && from->TakeHighest(ready);
  }
  if (!found) return false;
  frames_.reporter().SetTaken(from != &queues());
  frames_.Widen(ready->iteration->frame);
  if (ReadyStack& stack = queues().stack(); !stack.empty()) {  // first what has just come up
    queues().Queue(*ready);
    frames_.reporter().SetTaken(false);
    *ready = stack.Pop();
  } else if (from->queued_nanos() > run_.settings().pool->wake_nanos()) {
    run_.AskForHelp();
  }
  return true;
}

void Worker::HouseKeeping(Ready where) {
  queues().SetQueuesHeavy(may_share_ && run_.plan().has_heavy());
  if (ProgressProbe* const probe = run_.progress(); probe != nullptr && probe->IsAsked())
    probe->Answer(ProgressAt(where));
  Attention::Attend();
  if (absl::Status status = run_.env().cancellation->Poll(); !status.ok())
    return frames_.Fail(status, where);
  if (MemoryBudget* const budget = run_.env().budget; budget != nullptr) {
    if (absl::Status status = budget->CheckLimit(); !status.ok())
      return frames_.Fail(status, where);
  }
  if (frames_.router().shared() && index_ == 0) run_.StopSharing();
  if (run_.outbox() != nullptr) run_.outbox()->Poll();
}

void Worker::FireDead(Ready ready, const PlanNode& p) {
  Iteration& iteration = *ready.iteration;
  Tensor* const inputs = &iteration.inputs[p.first_input];
  for (uint32_t i = 0; i < p.num_inputs; ++i) DropValue(inputs[i]);
  TokenRouter& router = frames_.router();
  switch (p.opcode) {
    case Opcode::kEnter:
      return frames_.FireEnter(ready, p, Tensor());
    case Opcode::kExit:
      return frames_.FireExit(ready, p, Tensor());
    case Opcode::kNextIteration:
      if (p.carries_death) frames_.PassDeathOn(iteration, p);
      return frames_.Settle(iteration, 0);
    case Opcode::kLoopCond:
      if (p.opens_gate) frames_.Add(iteration, router.OpenGate(iteration, false));
      break;
    default:
      break;
  }
  frames_.Settle(iteration, router.DeliverDeath(iteration, p));
}

}  // namespace gyre::dataflow
