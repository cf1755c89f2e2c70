#include "exec/dataflow/kernel_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"
#include "exec/dataflow/origin.h"
#include "exec/sequential/loop.h"
#include "ops/state/variable.h"

namespace gyre::dataflow {
namespace {

int64_t Now() { return SystemClock().NowNanos(); }

absl::Status ReadRefs(const PlanNode& p, Tensor* inputs) {
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    const bool wants_ref = p.node->signature.inputs[i].is_ref;
    if (inputs[i].is_ref() == wants_ref || !inputs[i].has_value()) continue;
    if (p.node->op->traits.forwards && (i == 0 || p.opcode == Opcode::kMerge)) continue;
    if (wants_ref) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a reference to a variable, but it is a value"));
    }
    GYRE_ASSIGN_OR_RETURN(inputs[i], ReadRef(inputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

KernelRunner::KernelRunner(RunControl& run, FrameControl& frames, std::mt19937_64* explore)
    : run_(run), frames_(frames), explore_(explore) {
  outputs_.resize(run.plan().max_outputs());
}

void KernelRunner::DropOutputs() {
  for (Tensor& output : outputs_) DropValue(output);
}

// A firing took `nanos`. The first may have been slow for reasons of its own (cold caches), and any
// may have been interrupted: what is less counts for more.
void KernelRunner::Measured(const PlanNode& p, int64_t nanos) {
  const int64_t old = p.cost.load(std::memory_order_relaxed);
  if (old > 0 && old < kCheapNanos && nanos < kCheapNanos) return;
  int64_t now = std::min<int64_t>(nanos, ReadyQueues::kHeavyNanos - 1);
  if (old > 0) now = nanos < old ? (old + nanos) / 2 : old + (nanos - old) / 4;
  p.cost.store(static_cast<uint32_t>(std::clamp<int64_t>(now, 1, 1'000'000'000)),
               std::memory_order_relaxed);
  if (now < ReadyQueues::kHeavyNanos) return;
  run_.plan().NoteHeavy();
  frames_.router().queues().SetQueuesHeavy(true);
}

void KernelRunner::FlushBefore(const PlanNode& p, const Tensor* inputs) {
  const bool is_quick =
      p.node->op->traits.elementwise &&
      std::all_of(inputs, inputs + p.num_inputs, [](const Tensor& t) { return t.is_inline(); });
  if (is_quick) return;
  Flush();
}

void KernelRunner::Flush() {
  if (std::exchange(has_sent_, false)) run_.outbox()->Flush();
}

void KernelRunner::Run(Ready ready, const PlanNode& p, bool timed) {
  Iteration& iteration = *ready.iteration;
  Tensor* const inputs = &iteration.inputs[p.first_input];
  Tensor* const outputs = outputs_.data();
  // Only a transfer gets here dead: what it sends is its deadness, whatever else has arrived.
  for (uint32_t i = 0; ready.dead() && i < p.num_inputs; ++i) DropValue(inputs[i]);
  if (p.reads_refs) {
    if (absl::Status status = ReadRefs(p, inputs); !status.ok()) return frames_.Fail(status, ready);
  }
  if (p.runs_dead) {  // a transfer
    has_sent_ = run_.outbox() != nullptr;
  } else if (has_sent_) {
    FlushBefore(p, inputs);
  }
  const int64_t start = timed ? Now() : 0;
  KernelContext context(*p.node, run_.env(), p.needs_tag ? TagOf(ready) : Tag(),
                        absl::MakeSpan(inputs, p.num_inputs),
                        absl::MakeSpan(outputs, p.num_outputs));
  const absl::Status status = p.run(context, p.attrs);
  if (timed) Measured(p, Now() - start);
  if (!status.ok()) return Fail(ready, p, status);
  if (p.opcode == Opcode::kLoop) [[unlikely]] {
    if (const int64_t pauses = sequential::PausesOf(outputs[0]); pauses > 0) {
      inputs[0] = std::move(outputs[0]);
      return frames_.PutBack(ready, pauses);
    }
  }
  // What follows may want to own the buffers.
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    if (!inputs[i].is_inline()) DropValue(inputs[i]);
  }
  Finish(ready, p, outputs);
}

// A kernel has reported an error, or forgotten an output.
void KernelRunner::Fail(Ready ready, const PlanNode& p, const absl::Status& status) {
  absl::Status why = status;
  for (uint32_t i = 0; i < p.num_outputs; ++i) {
    if (why.ok() && !outputs_[i].has_value())
      why = BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is missing"));
    DropValue(outputs_[i]);
  }
  frames_.Fail(why, ready);
}

// A Send or Recv on a path not taken runs, so that each key keeps its pair, but stays dead.
void KernelRunner::Finish(Ready ready, const PlanNode& p, Tensor* outputs) {
  Iteration& iteration = *ready.iteration;
  if (ready.dead()) {
    for (uint32_t i = 0; i < p.num_outputs; ++i) DropValue(outputs[i]);
    return frames_.Settle(iteration, frames_.router().DeliverDeath(iteration, p));
  }
  switch (p.opcode) {
    case Opcode::kSwitch:
    case Opcode::kSwitchN:
      return frames_.Finish(ready, p, outputs);
    case Opcode::kLoopCond:
      if (p.opens_gate)
        frames_.Add(iteration, frames_.router().OpenGate(iteration, outputs[0].scalar<bool>()));
      return frames_.Finish(ready, p, outputs);
    default:
      break;
  }
  for (uint32_t i = 0; i < p.num_outputs; ++i) {
    if (outputs[i].has_value() || p.runs_dead) continue;
    return frames_.Fail(
        BugError(absl::StrCat("output ", i, " of ", p.node->op_name, " is missing")), ready);
  }
  frames_.Finish(ready, p, outputs);
}

// False: it has to wait for something.
bool KernelRunner::TryRun(Ready ready, const PlanNode& p, Tag tag) {
  Iteration& iteration = *ready.iteration;
  KernelContext context(*p.node, run_.env(), tag,
                        absl::MakeSpan(&iteration.inputs[p.first_input], p.num_inputs),
                        absl::MakeSpan(outputs_.data(), p.num_outputs));
  const std::optional<absl::Status> status = p.kernel->try_run(context, p.attrs);
  if (!status) return false;
  if (status->ok()) {
    Finish(ready, p, outputs_.data());
  } else {
    frames_.Fail(*status, ready);
  }
  return true;
}

void KernelRunner::RunAsync(Ready ready, const PlanNode& p) {
  const Tag tag = TagOf(ready);
  // Who explores orders wants it to end at some other time.
  if (p.kernel->try_run != nullptr && !explore_ && TryRun(ready, p, tag)) return;
  Tensor* const inputs = &ready.iteration->inputs[p.first_input];
  auto call = std::make_unique<AsyncCall>();
  call->ready = ready;
  call->outputs.resize(p.num_outputs);
  call->inputs.resize(p.num_inputs);
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    call->inputs[i] = ready.dead() ? Tensor() : std::move(inputs[i]);
    DropValue(inputs[i]);
  }
  if (absl::Status status = ReadRefs(p, call->inputs.data()); !status.ok()) {
    return frames_.Fail(status, ready);
  }
  frames_.Widen(ready.iteration->frame);  // later iterations need not wait for it
  call->context.emplace(*p.node, run_.env(), tag, absl::MakeSpan(call->inputs),
                        absl::MakeSpan(call->outputs));
  call->started = frames_.reporter().started();
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

void KernelRunner::CompleteAsync() {
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

void KernelRunner::CompleteAsync(std::unique_ptr<AsyncCall> call) {
  if (!call->status.ok()) return frames_.Fail(call->status, call->ready);
  frames_.reporter().SetStarted(call->started);
  Finish(call->ready, call->ready.plan(), call->outputs.data());
}

}  // namespace gyre::dataflow
