// MutexV2, MutexLock, ConsumeMutexLock: critical sections that wait without blocking a thread.
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/state/fifo_queue.h"

namespace gyre {
namespace {

// A mutex is a queue with one token: to lock is to take it, to unlock is to put it back. Owned by
// the session and its handles; thread-safe.
class MutexResource final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Mutex";

  explicit MutexResource(const std::string& name)
      : Resource(name),
        token_(MakeRef<FifoQueue>(name, std::vector<DType>(), std::vector<PartialShape>(), -1)) {
    Unlock(FifoQueue::Token());
  }
  absl::string_view type_name() const override { return kTypeName; }
  void Lock(Cancellation* cancellation, FifoQueue::DequeueDone done) {
    token_->Dequeue(cancellation, std::move(done));
  }
  void Unlock(FifoQueue::Token token) noexcept { token_->Add(std::move(token)); }
  // There is nothing in a mutex; whoever waits goes on waiting.
  bool Destroy() override { return true; }

 private:
  const RefPtr<FifoQueue> token_;
};

// Holds a mutex until it is consumed or the last reference to it goes. Thread-safe. Has the memory
// that unlocking takes from the start, before the mutex is locked.
class HeldLock final : public Object {
 public:
  static constexpr absl::string_view kTypeName = "MutexLock";

  explicit HeldLock(RefPtr<MutexResource> mutex) : mutex_(std::move(mutex)) {}
  ~HeldLock() override { Release(); }
  absl::string_view type_name() const override { return kTypeName; }
  // False when it had been released before.
  bool Release() {
    if (released_.exchange(true)) return false;
    mutex_->Unlock(std::move(token_));
    return true;
  }
  // From now on the mutex is locked, and this holds it.
  void Hold() { released_ = false; }

 private:
  const RefPtr<MutexResource> mutex_;
  FifoQueue::Token token_;
  std::atomic<bool> released_{true};
};

struct MutexAttrs {
  explicit MutexAttrs(const Node& node) : where(node) {}
  ResourceName where;
};

absl::Status MakeMutex(KernelContext& ctx, const MutexAttrs& attrs) {
  ctx.set_output(
      0, Tensor::FromObject(DType::kResource, FindOrCreate<MutexResource>(ctx, attrs.where, [&] {
                              return MakeRef<MutexResource>(attrs.where.name);
                            })));
  return absl::OkStatus();
}

void LockMutex(KernelContext& ctx, KernelDone done) {
  const absl::StatusOr<MutexResource*> mutex = ResourceInput<MutexResource>(ctx, 0);
  if (!mutex.ok()) return done(mutex.status());
  const auto held = MakeRef<HeldLock>(RefPtr<MutexResource>::Share(*mutex));
  (*mutex)->Lock(ctx.env().cancellation,
                 [&ctx, held, done = std::move(done)](absl::StatusOr<QueueElement> token) {
                   if (token.ok()) {
                     held->Hold();
                     ctx.set_output(0, Tensor::FromObject(DType::kVariant, held));
                   }
                   done(token.status());
                 });
}

absl::Status ConsumeLock(KernelContext& ctx) {
  auto* lock = ctx.input(0).object_as<HeldLock>();
  if (lock == nullptr) return NotAHandle(ctx, 0, HeldLock::kTypeName);
  if (!lock->Release()) return absl::InvalidArgumentError("this lock has been consumed already");
  return absl::OkStatus();
}

absl::Status HandleOnly(ShapeContext& c) { return c.RequireScalar(0); }

}  // namespace

void RegisterMutex(OpRegistry& ops) {
  ops.Add({.schema =
               "MutexV2() -> resource: resource {container: string = ''; shared_name: string = ''}",
           .doc = "A handle of the session's mutex of this name.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("it has no inputs"),
           .kernel = Compute<MakeMutex>()});
  ops.Add({.schema = "MutexLock(mutex: resource) -> mutex_lock: variant",
           .doc = "Waits for a mutex and locks it for as long as the result lives.",
           .traits = {.effect = Effect::kWrite},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is a lock"),
           .kernel = Compute<LockMutex>()});
  ops.Add({.schema = "ConsumeMutexLock(mutex_lock: variant) ->",
           .doc = "Unlocks what MutexLock locked.",
           .traits = {.effect = Effect::kWrite},
           .shape = HandleOnly,
           .gradient = NotDifferentiable("it has no outputs"),
           .kernel = Compute<ConsumeLock>()});
}

}  // namespace gyre
