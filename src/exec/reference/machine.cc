#include "exec/reference/machine.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <optional>

#include "base/attention.h"
#include "base/env.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "exec/reference/reference_engine.h"
#include "ops/memory.h"
#include "ops/state/variable.h"

namespace gyre::reference {
namespace {
// How many nodes run between two looks at the clock.
constexpr uint64_t kPollEvery = 64;
// How long a probe may be kept waiting.
constexpr int64_t kProbeNanos = 50'000'000;
}  // namespace

// A kernel that has not called back yet, with all that it may touch.
struct Machine::AsyncCall {
  Ready ready;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::optional<KernelContext> ctx;
  absl::Status status;
  std::list<AsyncCall>::iterator self;
  AsyncCall* next_done = nullptr;
};

Machine::Machine(const ReferencePlan& plan, absl::Span<const Tensor> feeds, RunEnv& env,
                 const RunHooks& hooks, int window)
    : plan_(plan), feeds_(feeds), env_(env), hooks_(hooks), window_(window) {}

Machine::~Machine() {
  if (env_.budget != nullptr) env_.budget->Release(charged_);
}

absl::StatusOr<std::vector<Tensor>> Machine::Run() {
  // Kernels and containers may ask the machine for more than it has.
  const absl::Status status = CatchOutOfMemory(kThisRun, [&] {
    GYRE_RETURN_IF_ERROR(env_.cancellation->Poll());
    StartActivation(plan_.main(), {}, nullptr);
    Loop();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    Fail(status, Ready());
    Loop();  // ends at once, but for kernels that still run elsewhere
  }
  if (!status_.ok()) return status_;
  return std::move(results_);
}

void Machine::Loop() {
  while (true) {
    if (!status_.ok()) {  // drain: what still runs elsewhere must end before the machine does
      batch_.clear();
      ready_.clear();
      ended_.clear();
      if (async_calls_.empty()) return;
      WaitForAsync();
      continue;
    }
    ready_.insert(ready_.end(), batch_.rbegin(), batch_.rend());
    batch_.clear();
    if (!ended_.empty()) {
      Activation* activation = ended_.back();
      ended_.pop_back();
      EndActivation(activation);
    } else if (!ready_.empty()) {
      const Ready next = ready_.back();
      ready_.pop_back();
      Execute(next);
    } else if (!async_calls_.empty()) {
      WaitForAsync();
    } else {
      return;
    }
  }
}

void Machine::Execute(const Ready& ready) {
  if (++steps_ % kPollEvery == 0) {
    if (hooks_.progress != nullptr && hooks_.progress->IsAsked())
      hooks_.progress->Answer(ProgressAt(ready));
    Attention::Attend();
    if (absl::Status status = env_.cancellation->Poll(); !status.ok()) return Fail(status, ready);
    if (env_.budget != nullptr) {
      absl::Status status = env_.budget->CheckLimit();
      if (!status.ok()) return Fail(status, ready);
    }
  }
  if (hooks_.observer != nullptr) started_ = env_.cancellation->clock().NowNanos();
  Iteration& iteration = *ready.iteration;
  Activation& activation = *iteration.frame->activation;
  const NodePlan& p = activation.plan->nodes[ready.node];
  if (ready.dead && p.kind != OpKind::kTransfer)
    return Finish(ready, std::vector<Tensor>(p.data_out.size()), true);

  std::vector<Tensor> inputs(p.num_inputs);
  for (int i = 0; i < p.num_inputs; ++i) inputs[i] = std::move(iteration.inputs[p.first_input + i]);
  // Only a transfer gets here dead: what it sends is its deadness, whatever else has arrived.
  if (ready.dead) inputs.assign(inputs.size(), Tensor());
  if (absl::Status status = ReadRefs(p, inputs); !status.ok()) return Fail(status, ready);
  if (IsStructured(p.kind)) return StartCall(ready, p, std::move(inputs));
  switch (p.kind) {
    case OpKind::kArg: {
      const int64_t index = NodeAttr<int64_t>(*p.node, "index");
      if (index < 0 || index >= static_cast<int64_t>(activation.args.size())) {
        return Fail(absl::InvalidArgumentError(absl::StrCat("there is no argument ", index)),
                    ready);
      }
      // The argument's own node is its only reader: moving lets a list be changed in place.
      const bool owner = activation.plan->function->arg_nodes[index] == ready.node;
      std::vector<Tensor> outputs;
      outputs.push_back(owner ? std::move(activation.args[index]) : activation.args[index]);
      return Finish(ready, std::move(outputs), false);
    }
    case OpKind::kRetval:
      return Finish(ready, {}, false);
    case OpKind::kSymbolicGradient:
      return Fail(BugError("a SymbolicGradient was not expanded"), ready);
    default:
      return RunKernel(ready, p, std::move(inputs));
  }
}

absl::Status Machine::ReadRefs(const NodePlan& p, std::vector<Tensor>& inputs) const {
  for (int i = 0; i < p.num_inputs; ++i) {
    const bool wants_ref = p.node->signature.inputs[i].is_ref;
    if (inputs[i].is_ref() == wants_ref || !inputs[i].has_value()) continue;
    if (p.node->op->traits.forwards && (i == 0 || p.kind == OpKind::kMerge)) continue;
    if (wants_ref) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a reference to a variable, but it is a value"));
    }
    GYRE_ASSIGN_OR_RETURN(inputs[i], ReadRef(inputs[i]));
  }
  return absl::OkStatus();
}

void Machine::RunKernel(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs) {
  if (p.kernel.run_async != nullptr) return RunAsync(ready, p, std::move(inputs));
  if (p.kernel.run == nullptr) {
    return Fail(p.no_kernel.ok() ? BugError(absl::StrCat("op ", p.node->op_name, " has no kernel"))
                                 : p.no_kernel,
                ready);
  }
  std::vector<Tensor> outputs(p.data_out.size());
  const Tag tag{ready.iteration->frame->id, ready.iteration->number};
  KernelContext ctx(*p.node, env_, tag, absl::MakeSpan(inputs), absl::MakeSpan(outputs));
  if (absl::Status status = p.kernel.run(ctx, p.kernel.attrs.get()); !status.ok())
    return Fail(status, ready);
  inputs.clear();  // what follows may want to own the buffers
  FinishKernel(ready, p, std::move(outputs));
}

void Machine::RunAsync(const Ready& ready, const NodePlan& p, std::vector<Tensor> inputs) {
  AsyncCall* const call = &async_calls_.emplace_back();
  call->self = std::prev(async_calls_.end());
  call->ready = ready;
  call->inputs = std::move(inputs);
  const Tag tag{ready.iteration->frame->id, ready.iteration->number};
  try {
    call->outputs.resize(p.data_out.size());
    call->ctx.emplace(*p.node, env_, tag, absl::MakeSpan(call->inputs),
                      absl::MakeSpan(call->outputs));
    p.kernel.run_async(*call->ctx, p.kernel.attrs.get(), [this, call](absl::Status status) {
      const std::lock_guard lock(async_mutex_);
      call->status = std::move(status);
      call->next_done = std::exchange(async_done_, call);
      async_changed_.notify_one();
    });
  } catch (...) {  // it will not call back
    async_calls_.erase(call->self);
    throw;
  }
}

void Machine::WaitForAsync() {
  std::list<AsyncCall> done;
  {
    std::unique_lock lock(async_mutex_);
    while (async_done_ == nullptr) {
      const Cancellation& cancellation = *env_.cancellation;
      int64_t left = Cancellation::kNoDeadline;
      if (cancellation.deadline_nanos() != left && !cancellation.IsCancelled())
        left = cancellation.deadline_nanos() - cancellation.clock().NowNanos();
      if (hooks_.progress != nullptr) left = std::min(left, kProbeNanos);
      left = std::min(left, Attention::Patience());
      if (left == Cancellation::kNoDeadline) {
        async_changed_.wait(lock);
        continue;
      }
      if (left > 0) async_changed_.wait_for(lock, std::chrono::nanoseconds(left));
      lock.unlock();
      AnswerWaiting();
      Attention::Attend();
      env_.cancellation->Poll().IgnoreError();  // past the deadline, this wakes whoever waits
      lock.lock();
    }
    for (; async_done_ != nullptr; async_done_ = async_done_->next_done)
      done.splice(done.begin(), async_calls_, async_done_->self);
  }
  while (!done.empty()) {
    std::list<AsyncCall> call;
    call.splice(call.begin(), done, done.begin());
    CompleteAsync(std::move(call));
  }
}

void Machine::AnswerWaiting() const {
  if (hooks_.progress == nullptr || !hooks_.progress->IsAsked() || !status_.ok()) return;
  RunProgress progress = ProgressAt(async_calls_.front().ready);
  progress.is_waiting = true;
  hooks_.progress->Answer(progress);
}

void Machine::CompleteAsync(std::list<AsyncCall> done) {
  AsyncCall& call = done.front();
  if (!call.status.ok()) return Fail(call.status, call.ready);
  if (!status_.ok()) return;
  const NodePlan& p = call.ready.iteration->frame->activation->plan->nodes[call.ready.node];
  FinishKernel(call.ready, p, std::move(call.outputs));
}

// A Send or Recv on a path not taken runs, so that each key keeps its pair, but stays dead.
void Machine::FinishKernel(const Ready& ready, const NodePlan& p, std::vector<Tensor> outputs) {
  if (ready.dead) outputs.assign(p.data_out.size(), Tensor());
  Finish(ready, std::move(outputs), ready.dead);
}

void Machine::Fail(const absl::Status& status, const Ready& where) noexcept {
  if (!status_.ok()) return;
  // A kernel that was told to stop reports "cancelled"; what counts is why.
  const absl::Status why = env_.cancellation->status();
  const absl::Status& cause =
      !why.ok() && (IsDerivedError(status) || why.code() == status.code()) ? why : status;
  status_ = CatchOutOfMemory(kThisRun, [&] {
    return absl::Status(cause.code(), absl::StrCat(cause.message(), Locate(where)));
  });
  env_.cancellation->Cancel(status_);
}

bool Machine::Charge(size_t bytes, const Ready& where) {
  if (env_.budget == nullptr) return true;
  const int64_t n = static_cast<int64_t>(bytes);
  if (env_.budget->Charge(n)) {
    charged_ += n;
    return true;
  }
  Fail(CallsDoNotFit(*env_.budget), where);
  return false;
}

void Machine::Release(size_t bytes) {
  if (env_.budget == nullptr) return;
  env_.budget->Release(static_cast<int64_t>(bytes));
  charged_ -= static_cast<int64_t>(bytes);
}

}  // namespace gyre::reference

namespace gyre {
namespace {

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(std::unique_ptr<reference::ReferencePlan> plan, int window)
      : plan_(std::move(plan)), window_(window) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    return reference::Machine(*plan_, feeds, env, hooks, window_).Run();
  }

 private:
  const std::unique_ptr<reference::ReferencePlan> plan_;
  const int window_;
};

class ReferenceEngineImpl final : public Engine {
 public:
  absl::string_view name() const override { return "reference"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override {
    GYRE_ASSIGN_OR_RETURN(auto plan, reference::ReferencePlan::Make(std::move(program), signature));
    return std::unique_ptr<Executable>(
        std::make_unique<ReferenceExecutable>(std::move(plan), options.parallel.window));
  }
};

}  // namespace

const Engine& ReferenceEngine() {
  static const auto* const engine = new ReferenceEngineImpl;
  return *engine;
}

}  // namespace gyre
