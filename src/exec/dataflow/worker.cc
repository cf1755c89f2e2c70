#include "exec/dataflow/worker.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/attention.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "exec/dataflow/tokens.h"
#include "ops/state/variable.h"

namespace gyre::dataflow {
namespace {

// Nodes between two looks at the clock and the budget. Prime: they fall on all nodes of a loop.
constexpr int kHouseKeepingEvery = 61;
// Of those looks, one in so many times a node that has been cheap so far.
constexpr int kTimedEvery = 8;

int64_t Now() { return SystemClock().NowNanos(); }

// What is cheap for certain stays so; it need not be written down again.
constexpr uint32_t kCheapNanos = Worker::kHeavyNanos / 4;

}  // namespace

// Whether to time every firing: while the node's cost is unknown, or it may be heavy.
bool Worker::NeedsTiming(const PlanNode& p) {
  const uint32_t known = p.cost.load(std::memory_order_relaxed);
  return known == 0 || known >= kCheapNanos;
}

// A firing took `nanos`. The first may have been slow for reasons of its own (cold caches), and any
// may have been interrupted: what is less counts for more.
void Worker::Measured(const PlanNode& p, int64_t nanos) {
  const int64_t old = p.cost.load(std::memory_order_relaxed);
  if (old > 0 && old < kCheapNanos && nanos < kCheapNanos) return;
  int64_t now = std::min<int64_t>(nanos, kHeavyNanos - 1);
  if (old > 0) now = nanos < old ? (old + nanos) / 2 : old + (nanos - old) / 4;
  p.cost.store(static_cast<uint32_t>(std::clamp<int64_t>(now, 1, 1'000'000'000)),
               std::memory_order_relaxed);
  if (now < kHeavyNanos) return;
  run_.plan_.NoteHeavy();
  queues_ = true;
}

Worker::Worker(Run& run, int index)
    : run_(run), index_(index), may_share_(run.settings_.threads > 1) {
  outputs_.resize(run.plan_.max_outputs());
  free_iterations_.resize(run.plan_.num_pools());
  if (run.settings_.schedule_seed) explore_.emplace();
}

Worker::~Worker() { FreeMemory(false); }

void Worker::WorkToTheEnd(const FunctionPlan& main) {
  shared_ = false;
  has_sent_ = false;
  is_observed_ = run_.hooks_.observer != nullptr;
  goes_through_ = !is_observed_ && !explore_;
  queues_ = may_share_ && run_.plan_.has_heavy();
  if (explore_) explore_->seed(*run_.settings_.schedule_seed + run_.env_->run_id);
  FailIfOutOfMemory([&] {
    StartActivation(main, {}, Ready());
    do {
      Drain();
    } while (run_.WaitForWork(*this));
  });
  while (run_.WaitForWork(*this)) {  // for those who still work on what has failed
  }
}

void Worker::Help() {
  shared_ = true;
  is_observed_ = run_.hooks_.observer != nullptr;
  goes_through_ = !is_observed_;
  queues_ = may_share_ && run_.plan_.has_heavy();
  FailIfOutOfMemory([&] {
    if (is_observed_) run_.hooks_.observer->OnJoined(index_, asked_nanos_, Now());
    Drain();
  });
  if (std::exchange(has_sent_, false)) run_.courier_->Flush();
}

template <typename Work>
void Worker::FailIfOutOfMemory(const Work& work) {
  const absl::Status status = CatchOutOfMemory(kThisRun, [&] {
    work();
    return absl::OkStatus();
  });
  if (!status.ok()) Fail(status, Ready());
}

[[gnu::always_inline]] inline void Worker::Fire(Ready ready) {
  Iteration& iteration = *ready.iteration;
  const PlanNode& p = ready.plan();
  if (ready.dead() && !p.runs_dead) return FireDead(ready, p);
  if (is_observed_) [[unlikely]]
    started_ = Now();
  Tensor* const inputs = iteration.inputs + p.first_input;
  switch (p.step) {
    case Step::kIdentity:
      return FinishOne(ready, p, inputs[0]);
    case Step::kConst: {
      Tensor value = *p.constant;
      return FinishOne(ready, p, value);
    }
    case Step::kNoOp:
      return Finish(ready, p, nullptr);
    case Step::kSwitch: {
      if (!inputs[1].is_inline() || p.is_fetched || is_observed_) break;
      return Settle(iteration, DeliverSwitched(iteration, p, inputs));
    }
    case Step::kMerge: {
      const uint32_t position = PendingCounts::ClaimedBy(iteration.counts[p.count]);
      if (p.is_fetched || is_observed_) {
        Tensor outputs[2] = {std::move(inputs[position]),
                             Tensor::Scalar(static_cast<int32_t>(position))};
        return Finish(ready, p, outputs);
      }
      return Settle(iteration, DeliverMerged(iteration, p, inputs[position], position));
    }
    case Step::kToBool:
      if (!inputs[0].is_inline() || inputs[0].dtype() != DType::kBool) break;
      return FinishOne(ready, p, inputs[0]);
    case Step::kPlainKernel: {
      if (may_share_ && NeedsTiming(p)) break;
      if (has_sent_) [[unlikely]]
        FlushBefore(p, inputs);
      Tensor& output = outputs_[0];
      KernelContext context(*p.node, *run_.env_, Tag(), absl::MakeSpan(inputs, p.num_inputs),
                            absl::MakeSpan(&output, 1));
      const absl::Status status = p.run(context, p.attrs);
      if (!status.ok() || !output.has_value()) [[unlikely]]
        return FailKernel(ready, p, status);
      for (uint32_t i = 0; i < p.num_inputs; ++i) {
        if (!inputs[i].is_inline()) Clear(inputs[i]);
      }
      return FinishOne(ready, p, output);
    }
    case Step::kEnter:
      return FireEnter(ready, p, std::move(inputs[0]));
    case Step::kExit:
      return FireExit(ready, p, std::move(inputs[0]));
    case Step::kNextIteration:
      return FireNextIteration(ready, p, std::move(inputs[0]));
    case Step::kLoopCond: {
      if (!inputs[0].is_inline()) break;
      const int64_t gated = p.opens_gate ? OpenGate(iteration, inputs[0].scalar<bool>()) : 0;
      if (gated > 0) Add(iteration, gated);
      return FinishOne(ready, p, inputs[0]);
    }
    case Step::kCall:
      return StartCall(ready, p);
    case Step::kArg: {
      const NodeInfo& info = InfoOf(ready);
      std::vector<Tensor>& args = iteration.frame->activation->args;
      if (info.arg_index < 0 || info.arg_index >= static_cast<int>(args.size())) {
        return Fail(
            absl::InvalidArgumentError(absl::StrCat("there is no argument ", info.arg_index)),
            ready);
      }
      Tensor value = info.owns_arg ? std::move(args[info.arg_index]) : Tensor(args[info.arg_index]);
      return Finish(ready, p, &value);
    }
    case Step::kRetval:
      Clear(inputs[0]);
      return Finish(ready, p, nullptr);
    case Step::kAsyncKernel:
      return RunAsync(ready, p);
    case Step::kUnavailable:
      return Fail(InfoOf(ready).unavailable, ready);
    case Step::kSwitchN:
    case Step::kKernel:
      break;
  }
  RunKernel(ready, p, may_share_ && NeedsTiming(p));
}

void Worker::Drain() {
  while (true) {
    const uint32_t attention = run_.attention_.load(std::memory_order_relaxed);
    if (attention != 0) {
      if (run_.HasEnded()) return;
      const bool later = explore_ && !stack_.empty() && (*explore_)() % 2 == 0;
      if ((attention & Run::kAsyncDone) != 0 && !later) CompleteAsync();
    }
    if (!fresh_.empty()) QueueFresh();
    if (!ended_.empty()) {
      Activation* const activation = ended_.back();
      ended_.pop_back();
      EndActivation(activation);
    } else if (!stack_.empty()) {
      FireStack();
    } else if (Ready ready; may_share_ && TakeQueued(&ready)) {
      HouseKeeping(ready);
      Fire(ready);
      was_taken_ = false;
    } else {
      return;
    }
  }
}

// Fires what is ready here, until there is nothing, or it is time to look at everything else.
void Worker::FireStack() {
  do {
    if (explore_) [[unlikely]]
      stack_.Shuffle(*explore_);
    const Ready ready = stack_.Pop();
    if (--until_check_ <= 0) {  // counts on from one stretch to the next: each may be short
      until_check_ = explore_ ? 1 : kHouseKeepingEvery;
      HouseKeeping(ready);
      if (run_.HasEnded()) return;
      if (!may_share_ || --until_timed_ > 0) return Fire(ready);
      until_timed_ = kTimedEvery;
      const PlanNode& p = ready.plan();
      const bool is_kernel = p.step == Step::kPlainKernel || p.step == Step::kKernel;
      return is_kernel && !ready.dead() && !is_observed_ ? RunKernel(ready, p, true) : Fire(ready);
    }
    Fire(ready);
  } while (!stack_.empty());
}

void Worker::QueueFresh() {
  for (Ready ready : fresh_) PushQueued(ready);
  fresh_.clear();
}

void Worker::PushQueued(Ready ready) {
  QueuePlace place;
  place.depth = ready.iteration->frame->activation->depth;
  for (const Iteration* i = ready.iteration; i->frame->parent != nullptr;
       i = i->frame->parent_iteration) {
    place.trip = i->number;
  }
  const int64_t cost = ready.plan().cost.load(std::memory_order_relaxed);
  const std::lock_guard lock(queue_mutex_);
  place.order = queue_order_++;
  queue_.emplace(place, Queued{ready, cost});
  queue_cost_.fetch_add(cost, std::memory_order_relaxed);
  run_.queued_.fetch_add(1, std::memory_order_relaxed);
}

// Of this thread's own what lies deepest in calls: a tree of calls taken from the top would be all
// in memory at once. Of another's what lies highest: most follows from it. There, the oldest
// iteration first: the window moves on with it.
bool Worker::PopQueued(Worker& from, Ready* ready) {
  const std::lock_guard lock(from.queue_mutex_);
  if (from.queue_.empty()) return false;
  const auto queued =
      &from == this ? from.queue_.lower_bound({from.queue_.rbegin()->first.depth, INT64_MIN, 0})
                    : from.queue_.begin();
  *ready = queued->second.ready;
  from.queue_cost_.fetch_sub(queued->second.cost, std::memory_order_relaxed);
  from.queue_.erase(queued);
  run_.queued_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// A heavy node, this thread's or another's. Before it runs, later iterations of the loops
// around it are let loose: they may hold more of its kind, for other threads.
bool Worker::TakeQueued(Ready* ready) {
  Worker* from = this;
  bool found = PopQueued(*this, ready);
  for (size_t i = 1; !found && shared_ && i < run_.workers_.size(); ++i) {
    from = run_.workers_[(index_ + i) % run_.workers_.size()].get();
    found = from != nullptr && PopQueued(*from, ready);
  }
  if (!found) return false;
  was_taken_ = from != this;
  Widen(ready->iteration->frame);
  if (!stack_.empty()) {  // first what has just come up
    PushQueued(*ready);
    was_taken_ = false;
    *ready = stack_.Pop();
  } else if (from->queue_cost_.load(std::memory_order_relaxed) >
             run_.settings_.pool->wake_nanos()) {
    run_.AskForHelp();
  }
  return true;
}

void Worker::HouseKeeping(Ready where) {
  queues_ = may_share_ && run_.plan_.has_heavy();
  if (ProgressProbe* const probe = run_.hooks_.progress; probe != nullptr && probe->IsAsked())
    probe->Answer(ProgressAt(where));
  Attention::Attend();
  if (absl::Status status = run_.env_->cancellation->Poll(); !status.ok())
    return Fail(status, where);
  if (run_.env_->budget != nullptr) {
    if (absl::Status status = run_.env_->budget->CheckLimit(); !status.ok())
      return Fail(status, where);
  }
  if (shared_ && index_ == 0) run_.StopSharing(*this);
  if (run_.courier_ != nullptr) run_.courier_->Poll();
}

void Worker::FireDead(Ready ready, const PlanNode& p) {
  Iteration& iteration = *ready.iteration;
  Tensor* const inputs = iteration.inputs + p.first_input;
  for (uint32_t i = 0; i < p.num_inputs; ++i) Clear(inputs[i]);
  switch (p.step) {
    case Step::kEnter:
      return FireEnter(ready, p, Tensor());
    case Step::kExit:
      return FireExit(ready, p, Tensor());
    case Step::kNextIteration:
      if (p.carries_death) HandDeathOver(iteration, p);
      return Settle(iteration, 0);
    case Step::kLoopCond:
      if (p.opens_gate) Add(iteration, OpenGate(iteration, false));
      break;
    default:
      break;
  }
  Settle(iteration, DeliverDeath(iteration, p));
}

absl::Status Worker::Show(Ready ready, const PlanNode& p, const Tensor* outputs) {
  if (is_observed_) GYRE_RETURN_IF_ERROR(Observe(ready, p, outputs));
  return p.is_fetched ? KeepFetched(ready, outputs) : absl::OkStatus();
}

absl::Status Worker::Observe(Ready ready, const PlanNode& p, const Tensor* outputs) const {
  const NodeOrigin& origin = InfoOf(ready).origin;
  const std::vector<Surrounding> around = Around(ready);
  std::vector<int> sources;
  const TokenSite site = SiteOf(ready, &sources);
  Firing firing;
  firing.node = p.node->name;
  firing.op = p.node->op_name;
  firing.is_plumbing = origin.is_plumbing;
  firing.is_call = p.step == Step::kCall;
  firing.around = around;
  firing.thread = index_;
  firing.was_taken = was_taken_;
  firing.start_nanos = started_;
  firing.end_nanos = Now();
  firing.outputs = absl::MakeSpan(outputs, p.num_outputs);
  firing.site = &site;
  SetMade(*p.node, firing);
  return run_.hooks_.observer->OnFired(firing);
}

// Who fetches a reference, or a value that is still one, gets what the variable holds now.
absl::Status Worker::KeepFetched(Ready ready, const Tensor* outputs) {
  Activation& activation = *ready.iteration->frame->activation;
  const PlanNode& p = ready.plan();
  for (const auto& [slot, position] : InfoOf(ready).fetched) {
    Tensor& result = activation.results[position];
    const bool wants_ref =
        p.node->signature.outputs[slot].is_ref && activation.caller.iteration != nullptr;
    if (outputs[slot].is_ref() && !wants_ref) {
      GYRE_ASSIGN_OR_RETURN(result, ReadRef(outputs[slot]));
    } else {
      result = outputs[slot];
    }
  }
  return absl::OkStatus();
}

absl::Status Worker::ReadRefs(const PlanNode& p, Tensor* inputs) const {
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    const bool wants_ref = p.node->signature.inputs[i].is_ref;
    if (inputs[i].is_ref() == wants_ref || !inputs[i].has_value()) continue;
    if (p.node->op->traits.forwards && (i == 0 || p.step == Step::kMerge)) continue;
    if (wants_ref) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a reference to a variable, but it is a value"));
    }
    GYRE_ASSIGN_OR_RETURN(inputs[i], ReadRef(inputs[i]));
  }
  return absl::OkStatus();
}

void Worker::FlushBefore(const PlanNode& p, const Tensor* inputs) {
  const bool is_quick =
      p.node->op->traits.elementwise &&
      std::all_of(inputs, inputs + p.num_inputs, [](const Tensor& t) { return t.is_inline(); });
  if (is_quick) return;
  has_sent_ = false;
  run_.courier_->Flush();
}

void Worker::RunKernel(Ready ready, const PlanNode& p, bool timed) {
  Iteration& iteration = *ready.iteration;
  Tensor* const inputs = iteration.inputs + p.first_input;
  Tensor* const outputs = outputs_.data();
  // Only a transfer gets here dead: what it sends is its deadness, whatever else has arrived.
  for (uint32_t i = 0; ready.dead() && i < p.num_inputs; ++i) Clear(inputs[i]);
  if (p.reads_refs) {
    if (absl::Status status = ReadRefs(p, inputs); !status.ok()) return Fail(status, ready);
  }
  if (p.runs_dead) {  // a transfer
    has_sent_ = run_.courier_ != nullptr;
  } else if (has_sent_) {
    FlushBefore(p, inputs);
  }
  const int64_t start = timed ? Now() : 0;
  KernelContext context(*p.node, *run_.env_, p.needs_tag ? TagOf(ready) : Tag(),
                        absl::MakeSpan(inputs, p.num_inputs),
                        absl::MakeSpan(outputs, p.num_outputs));
  const absl::Status status = p.run(context, p.attrs);
  if (timed) Measured(p, Now() - start);
  if (!status.ok()) return FailKernel(ready, p, status);
  // What follows may want to own the buffers.
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    if (!inputs[i].is_inline()) Clear(inputs[i]);
  }
  FinishKernel(ready, p, outputs);
}

// A kernel has reported an error, or forgotten an output.
void Worker::FailKernel(Ready ready, const PlanNode& p, const absl::Status& status) {
  absl::Status why = status;
  for (uint32_t i = 0; i < p.num_outputs; ++i) {
    if (why.ok() && !outputs_[i].has_value())
      why = BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is missing"));
    Clear(outputs_[i]);
  }
  Fail(why, ready);
}

// A Send or Recv on a path not taken runs, so that each key keeps its pair, but stays dead.
void Worker::FinishKernel(Ready ready, const PlanNode& p, Tensor* outputs) {
  Iteration& iteration = *ready.iteration;
  if (ready.dead()) {
    for (uint32_t i = 0; i < p.num_outputs; ++i) Clear(outputs[i]);
    return Settle(iteration, DeliverDeath(iteration, p));
  }
  switch (p.step) {
    case Step::kSwitch:
    case Step::kSwitchN:
      return Finish(ready, p, outputs);
    case Step::kLoopCond:
      if (p.opens_gate) Add(iteration, OpenGate(iteration, outputs[0].scalar<bool>()));
      return Finish(ready, p, outputs);
    default:
      break;
  }
  for (uint32_t i = 0; i < p.num_outputs; ++i) {
    if (outputs[i].has_value() || p.runs_dead) continue;
    return Fail(BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is missing")),
                ready);
  }
  Finish(ready, p, outputs);
}

// False: it has to wait for something.
bool Worker::TryRun(Ready ready, const PlanNode& p, Tag tag) {
  Iteration& iteration = *ready.iteration;
  KernelContext context(*p.node, *run_.env_, tag,
                        absl::MakeSpan(iteration.inputs + p.first_input, p.num_inputs),
                        absl::MakeSpan(outputs_.data(), p.num_outputs));
  const std::optional<absl::Status> status = p.kernel->try_run(context, p.attrs);
  if (!status) return false;
  if (status->ok()) {
    FinishKernel(ready, p, outputs_.data());
  } else {
    Fail(*status, ready);
  }
  return true;
}

void Worker::RunAsync(Ready ready, const PlanNode& p) {
  const Tag tag = TagOf(ready);
  // Who explores orders wants it to end at some other time.
  if (p.kernel->try_run != nullptr && !explore_ && TryRun(ready, p, tag)) return;
  Tensor* const inputs = ready.iteration->inputs + p.first_input;
  auto call = std::make_unique<AsyncCall>();
  call->ready = ready;
  call->outputs.resize(p.num_outputs);
  call->inputs.resize(p.num_inputs);
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    call->inputs[i] = ready.dead() ? Tensor() : std::move(inputs[i]);
    Clear(inputs[i]);
  }
  if (absl::Status status = ReadRefs(p, call->inputs.data()); !status.ok()) {
    return Fail(status, ready);
  }
  Widen(ready.iteration->frame);  // later iterations need not wait for it
  call->context.emplace(*p.node, *run_.env_, tag, absl::MakeSpan(call->inputs),
                        absl::MakeSpan(call->outputs));
  call->started = started_;
  using State = AsyncCall::State;
  // Two words, so that the function that is called back need not be kept on the heap.
  p.kernel->run_async(*call->context, p.attrs, [run = &run_, c = call.get()](absl::Status status) {
    c->status = std::move(status);
    if (c->state.exchange(State::kDone, std::memory_order_acq_rel) == State::kNoted)
      run->AsyncDone(c);
  });
  // Often it is done by now, and nobody else need know.
  if (call->state.load(std::memory_order_acquire) == State::kStarted) {
    AsyncCall* const noted = call.release();
    run_.AsyncStarted(noted);
    State started = State::kStarted;
    if (noted->state.compare_exchange_strong(started, State::kNoted, std::memory_order_acq_rel))
      return;
    run_.AsyncForgotten(noted);
    call.reset(noted);
  }
  CompleteAsync(std::move(call));
}

void Worker::CompleteAsync() {
  AsyncCalls calls = run_.TakeAsyncDone();
  if (explore_) {
    std::vector<std::unique_ptr<AsyncCall>> shuffled(static_cast<size_t>(calls.size()));
    for (auto& call : shuffled) call = calls.TakeFirst();
    std::shuffle(shuffled.begin(), shuffled.end(), *explore_);
    for (auto& call : shuffled) CompleteAsync(std::move(call));
    return;
  }
  while (auto call = calls.TakeFirst()) CompleteAsync(std::move(call));
}

void Worker::CompleteAsync(std::unique_ptr<AsyncCall> call) {
  if (!call->status.ok()) return Fail(call->status, call->ready);
  started_ = call->started;
  FinishKernel(call->ready, call->ready.plan(), call->outputs.data());
}

}  // namespace gyre::dataflow
