#include "eager/context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "eager/effect_log.h"
#include "eager/tape.h"
#include "exec/parallel_for.h"
#include "front/error.h"
#include "ir/program.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/rendezvous.h"

namespace gyre::eager {
namespace {

using gyre::internal::Throw;
using gyre::internal::ValueOrThrow;

// Inputs of up to this many elements are done before anybody would notice that others wait.
constexpr int64_t kQuickElements = 4096;

uint64_t NewVersion() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

std::shared_ptr<const Program> EmptyProgram() {
  ProgramBuilder builder(Ops());
  builder.SetMain(Function());
  return builder.Build();
}

// All eager tensors of the process are charged to one budget.
MemoryBudget& Budget() {
  static MemoryBudget* const budget =
      MakeRef<MemoryBudget>(PhysicalMemoryBytes() / 4 * 3).release();
  return *budget;
}

uint64_t DrawnSeed() {
  static const uint64_t drawn = static_cast<uint64_t>(SystemClock().NowNanos());
  return drawn;
}

bool AreSmall(absl::Span<const Tensor> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    return t.is_inline() || t.num_elements() <= kQuickElements;
  });
}

void LookForNan(const EagerOp& op, absl::Span<const Tensor> outputs) {
  const absl::Status found =
      TheNanTrap()->OnFired({.node = op.node.name, .op = op.node.op_name, .outputs = outputs});
  if (found.ok()) return;
  Throw(absl::Status(found.code(),
                     absl::StrCat(found.message(), "\n  of ", op.node.op_name, ", run at once")));
}

Host& NoHost() {
  static Host host;
  return host;
}

}  // namespace

uint64_t NewTensorId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

absl::Status Host::Run(Cancellation&, absl::FunctionRef<absl::Status()> work) { return work(); }
void Host::RunProgram(Cancellation&, absl::FunctionRef<absl::Status()> work) {
  work().IgnoreError();
}
void Host::Prepare(absl::FunctionRef<void()> work) { work(); }
std::unique_ptr<PlanGraph> Host::NewPlanGraph() { return eager::NewPlanGraph(); }

// What the kernels that run at once on one thread are given. A thread's own.
struct Context::ThreadState {
  RunEnv env;
  std::shared_ptr<Cancellation> cancellation;
  LocalRendezvous rendezvous;
  EagerOpTable ops;  // of the context
  uint64_t version = 0;
  bool traps_nans = false;

  ThreadState() { Renew(); }
  static ThreadState& Here() {
    static constinit thread_local ThreadState* known = nullptr;
    if (known == nullptr) [[unlikely]] {
      static thread_local ThreadState made;
      known = &made;
    }
    return *known;
  }

  // After a cancellation.
  void Renew() {
    cancellation = std::make_shared<Cancellation>();
    env.cancellation = cancellation.get();
  }

  void Update(const Context& context) {
    static PoolParallelFor* const parallel =
        new PoolParallelFor(ThreadPool::Shared(), NumProcessors());
    version = context.version();  // first: of options that change meanwhile it knows next time
    const SessionOptions options = context.options();
    env.budget = &Budget();
    env.resources = &context.session()->resources();
    env.rendezvous = &rendezvous;
    env.parallel = options.parallel.threads == 1 ? nullptr : parallel;
    env.seed = options.seed != 0 ? options.seed : DrawnSeed();
    env.print = options.print;
    ops.clear();
  }
};

void TrapNans(bool is_on) { Context::ThreadState::Here().traps_nans = is_on; }

NanTrap* TheNanTrap() {
  static NanTrap trap;
  return Context::ThreadState::Here().traps_nans ? &trap : nullptr;
}

Context::ThreadState& Context::State() {
  ThreadState& state = ThreadState::Here();
  if (state.version != version()) [[unlikely]]
    state.Update(*this);
  return state;
}

Context::Context(const SessionOptions& options, Host* host)
    : host_(host != nullptr ? *host : NoHost()),
      version_(NewVersion()),
      options_(options),
      session_(ValueOrThrow(Session::Create(EmptyProgram(), options))) {}

SessionOptions Context::options() const {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  return options_;
}

std::shared_ptr<Session> Context::session() const {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  return session_;
}

void Context::Change(const SessionOptions& options) {
  std::shared_ptr<Session> changed = ValueOrThrow(session()->WithOptions(EmptyProgram(), options));
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  session_ = std::move(changed);
  options_ = options;
  version_.store(NewVersion(), std::memory_order_release);
}

absl::Status Context::RunSlowly(const EagerOp& op, ThreadState& state, KernelContext& ctx) {
  // Its own reference: an op that a host function runs meanwhile may replace it.
  const std::shared_ptr<Cancellation> cancellation = state.cancellation;
  absl::Status status =
      host_.Run(*cancellation, [&] { return RunAndWait(op.kernel, ctx, cancellation.get()); });
  if (cancellation->IsCancelled()) {
    // First: handlers of signals, which the host calls, may run ops.
    if (state.cancellation == cancellation) state.Renew();
    host_.ThrowIfInterrupted();
  }
  return status;
}

void Context::Run(const EagerOp& op, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs) {
  ThreadState& state = State();
  if (op.is_random) state.env.run_id = session()->CountRun();
  KernelContext ctx(op.node, state.env, Tag(), inputs, outputs);
  const absl::Status status = op.is_quick && AreSmall(inputs)
                                  ? op.kernel.run(ctx, op.kernel.attrs.get())
                                  : RunSlowly(op, state, ctx);
  if (!status.ok()) [[unlikely]]
    Throw(status);
  if (state.traps_nans) [[unlikely]]
    LookForNan(op, outputs);
}

EagerTensors Context::Execute(const OpDef& op, absl::Span<EagerTensor> inputs, AttrMap attrs) {
  absl::InlinedVector<Tensor, 4> tensors;
  const bool records = Recording::IsOn();
  for (EagerTensor& input : inputs) {
    // A handle stays: it may be handed on.
    const bool stays = records || input.owner != nullptr;
    tensors.push_back(stays ? input.value : std::move(input.value));
  }
  const std::shared_ptr<const EagerOp> found =
      ops_.Find(op, tensors, std::move(attrs), State().ops);
  absl::InlinedVector<Tensor, 4> results(found->node.signature.outputs.size());
  const auto run = [&] { Run(*found, absl::MakeSpan(tensors), absl::MakeSpan(results)); };
  if (op.traits.effect != Effect::kNone && EffectLog::IsOn()) [[unlikely]] {
    EffectLog::RunOnce(*found, tensors, absl::MakeSpan(results), run);
  } else {
    run();
  }
  EagerTensors outputs;
  for (Tensor& result : results) {
    if (!result.has_value())
      Throw(absl::FailedPreconditionError(absl::StrCat(op.name, " has computed nothing")));
    outputs.emplace_back(std::move(result));
    if (outputs.back().dtype() != DType::kResource) continue;
    for (const EagerTensor& input : inputs) {  // the same variable, handed on
      if (input.owner != nullptr && input.value.object() == outputs.back().value.object())
        outputs.back().owner = input.owner;
    }
  }
  if (records) Recording::Tell(found, inputs, outputs);
  return outputs;
}

EagerTensor Context::Execute1(absl::string_view op, EagerTensors inputs, AttrMap attrs) {
  const OpDef* const def = Ops().Find(op);
  if (def == nullptr) Throw(absl::NotFoundError(absl::StrCat("there is no op called ", op)));
  EagerTensors outputs = Execute(*def, absl::MakeSpan(inputs), std::move(attrs));
  return std::move(outputs.at(0));
}

}  // namespace gyre::eager
