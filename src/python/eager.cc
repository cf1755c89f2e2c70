#include "python/eager.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/attention.h"
#include "base/cancellation.h"
#include "base/env.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "exec/parallel_for.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "python/settings.h"
#include "python/signals/interrupt.h"

namespace gyre::python {
namespace {

// Inputs of up to this many elements are done before anybody would notice that the GIL is held.
constexpr int64_t kQuickElements = 4096;
// Attributes that differ from call to call must not fill the memory.
constexpr size_t kMaxPerTypes = 64;

bool SameAttrs(const AttrMap& a, const AttrMap& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && AttrEquals(x.second, y.second);
         });
}

bool HoldsTensor(const AttrMap& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const auto& entry) {
    return std::holds_alternative<Tensor>(entry.second) ||
           std::holds_alternative<std::vector<Tensor>>(entry.second);
  });
}

struct Key {
  const OpDef* op;
  absl::InlinedVector<DType, 6> types;
  friend bool operator==(const Key& a, const Key& b) { return a.op == b.op && a.types == b.types; }
  template <typename H>
  friend H AbslHashValue(H h, const Key& key) {
    h = H::combine(std::move(h), key.op);
    return H::combine_contiguous(std::move(h), key.types.data(), key.types.size());
  }
};

// With the GIL held.
using Cache = HashMap<Key, std::vector<std::shared_ptr<EagerOp>>>;
Cache& TheCache() {
  static Cache* const cache = new Cache;
  return *cache;
}

// Named resources without a name are called after their node: here, one of their own each.
bool NeedsOwnName(const OpDef& op, const AttrMap& given) {
  const AttrDef* def = op.FindAttr("shared_name");
  return def != nullptr && given.GetOr<std::string>("shared_name", "").empty();
}

EagerOp MakeEagerOp(const OpDef& op, absl::Span<const Tensor> inputs, AttrMap given) {
  if (!IsPlain(op.kind)) {
    ThrowStatus(absl::UnimplementedError(
        absl::StrCat(op.name, " runs only in graphs: call it in a gyre.function")));
  }
  EagerOp made;
  made.given = given;
  if (NeedsOwnName(op, given)) {
    static int64_t last = 0;
    given.Set("shared_name", absl::StrCat("eager_", op.name, "_", ++last));
  }
  made.node = ValueOf(MakeNode(Ops(), op.name, {inputs.begin(), inputs.end()}, std::move(given)));
  made.node.name = op.name;
  made.kernel = ValueOf(Ops().MakeKernel(made.node));
  made.is_quick = op.traits.elementwise && op.traits.effect == Effect::kNone;
  made.is_random = op.traits.effect == Effect::kRandom;
  return made;
}

// What the kernels that run at once on one thread are given. A thread's own.
struct Surroundings {
  RunEnv env;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
  LocalRendezvous rendezvous;
  uint64_t version = 0;
  bool trap_nan = false;

  // All eager tensors of the process are charged to one budget.
  static MemoryBudget& Budget() {
    static MemoryBudget* const budget =
        MakeRef<MemoryBudget>(PhysicalMemoryBytes() / 4 * 3).release();
    return *budget;
  }

  void Update() {
    const SessionOptions& options = Options();
    static PoolParallelFor* const parallel =
        new PoolParallelFor(ThreadPool::Shared(), NumProcessors());
    env.cancellation = cancellation.get();
    env.budget = &Budget();
    env.resources = &Resources();
    env.rendezvous = &rendezvous;
    env.parallel = options.threads == 1 ? nullptr : parallel;
    env.seed = options.seed;
    if (env.seed == 0) {
      static const uint64_t drawn = static_cast<uint64_t>(SystemClock().NowNanos());
      env.seed = drawn;
    }
    env.print = options.print;
    version = OptionsVersion();
  }
};

Surroundings& TheSurroundings() {
  static thread_local Surroundings surroundings;
  if (surroundings.version != OptionsVersion()) surroundings.Update();
  return surroundings;
}

bool AreSmall(absl::Span<const Tensor> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    return t.is_inline() || t.num_elements() <= kQuickElements;
  });
}

// Waits for an asynchronous kernel, until it is done or the cancellation ends it.
absl::Status RunAsync(const Kernel& kernel, KernelContext& ctx, Cancellation& cancellation) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  absl::Status status;
  kernel.run_async(ctx, kernel.attrs.get(), [&](absl::Status result) {
    const std::lock_guard lock(mutex);
    status = std::move(result);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return done; })) {
    lock.unlock();
    Attention::Attend();
    cancellation.Poll().IgnoreError();
    lock.lock();
  }
  return status;
}

absl::Status RunSlowly(const EagerOp& op, Surroundings& surroundings, KernelContext& ctx) {
  // Its own reference: an op that a host function runs meanwhile may replace it.
  const std::shared_ptr<Cancellation> cancellation = surroundings.cancellation;
  absl::Status status;
  {
    const Interruptible interruptible(*cancellation);
    const nb::gil_scoped_release release;
    status = op.kernel.run != nullptr ? op.kernel.run(ctx, op.kernel.attrs.get())
                                      : RunAsync(op.kernel, ctx, *cancellation);
  }
  if (cancellation->IsCancelled()) {
    if (surroundings.cancellation == cancellation) {
      surroundings.cancellation = std::make_shared<Cancellation>();
      surroundings.env.cancellation = surroundings.cancellation.get();
    }
    ThrowIfInterrupted();
  }
  return status;
}

void LookForNan(const EagerOp& op, absl::Span<const Tensor> outputs) {
  const absl::Status found =
      TheNanTrap()->OnFired({.node = op.node.name, .op = op.node.op_name, .outputs = outputs});
  if (found.ok()) return;
  ThrowStatus(absl::Status(
      found.code(), absl::StrCat(found.message(), "\n  of ", op.node.op_name, ", run at once")));
}

}  // namespace

std::shared_ptr<EagerOp> FindEagerOp(const OpDef& op, absl::Span<const Tensor> inputs,
                                     AttrMap given, bool* is_cached) {
  if (is_cached != nullptr) *is_cached = false;
  if (HoldsTensor(given) || NeedsOwnName(op, given))
    return std::make_shared<EagerOp>(MakeEagerOp(op, inputs, std::move(given)));
  Key key{&op, {}};
  for (const Tensor& input : inputs) key.types.push_back(input.dtype());
  const auto it = TheCache().find(key);
  if (it != TheCache().end()) {
    for (const auto& entry : it->second) {
      if (!SameAttrs(entry->given, given)) continue;
      if (is_cached != nullptr) *is_cached = true;
      return entry;
    }
  }
  auto made = std::make_shared<EagerOp>(MakeEagerOp(op, inputs, std::move(given)));
  auto& known = TheCache()[std::move(key)];
  if (known.size() >= kMaxPerTypes) return made;
  if (is_cached != nullptr) *is_cached = true;
  return known.emplace_back(std::move(made));
}

void RunEagerOp(const EagerOp& op, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs) {
  Surroundings& surroundings = TheSurroundings();
  if (op.is_random) surroundings.env.run_id = RootSession()->CountRun();
  KernelContext ctx(op.node, surroundings.env, Tag(), inputs, outputs);
  const absl::Status status = op.is_quick && AreSmall(inputs)
                                  ? op.kernel.run(ctx, op.kernel.attrs.get())
                                  : RunSlowly(op, surroundings, ctx);
  if (!status.ok()) [[unlikely]]
    ThrowStatus(status);
  if (surroundings.trap_nan) [[unlikely]]
    LookForNan(op, outputs);
}

NanTrap* TheNanTrap() {
  static NanTrap* const trap = new NanTrap();
  return TheSurroundings().trap_nan ? trap : nullptr;
}

void SetNanTrap(bool is_on) { TheSurroundings().trap_nan = is_on; }

}  // namespace gyre::python
