#include "exec/dataflow/run.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/attention.h"
#include "base/env.h"
#include "exec/dataflow/origin.h"
#include "exec/dataflow/worker.h"

namespace gyre::dataflow {
namespace {

// What a run keeps for the next one, in bytes.
constexpr size_t kKeptMemory = 1 << 20;
// How long worker 0 looks out for work before it sleeps: about what waking it would cost.
constexpr int64_t kSpinNanos = 20'000;
// How long a probe may be kept waiting.
constexpr int64_t kProbeNanos = 50'000'000;

}  // namespace

// Where threads that were asked for help find the run, or that it is over.
class Run::Gate {
 public:
  explicit Gate(Run* run) : run_(run) {}

  void Help() {
    Run* run = nullptr;
    Worker* worker = nullptr;
    int64_t asked_nanos = 0;
    {
      const std::lock_guard lock(mutex_);
      if (run_ == nullptr) return;
      run = run_;
      worker = run->Join(&asked_nanos);
    }
    if (worker == nullptr) return;
    worker->Help(asked_nanos);
    run->Leave(worker);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    run_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Run* run_;  // guarded by mutex_; null once the run is over
};

Run::Run(const Plan& plan, const RunSettings& settings) : RunControl(plan, settings) {
  workers_.resize(std::max(settings.parallel.threads, 1));
  workers_[0].worker = std::make_unique<Worker>(*this, 0);
}

Run::~Run() = default;

absl::StatusOr<std::vector<Tensor>> Run::Execute(absl::Span<const Tensor> feeds, RunEnv& env,
                                                 const RunHooks& hooks) {
  if (absl::Status status = env.cancellation->Poll(); !status.ok()) return status;
  Begin(feeds, env, hooks);
  is_clean_ = true;
  workers_[0].worker->WorkToTheEnd();
  Finish();
  return TakeResults();
}

// Nobody but the caller's thread is here any more.
void Run::Finish() {
  if (gate_ != nullptr) {
    gate_->Close();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return active_ == 0; });
    asked_ = 0;
    gate_.reset();
  }
  shared_.store(false, std::memory_order_relaxed);
  size_t made = 0;
  for (const Member& member : workers_)
    made += member.worker == nullptr ? 0 : member.worker->memory();
  if (HasFailed() || !is_clean_ || made > kKeptMemory) {
    for (const Member& member : workers_) {
      if (member.worker != nullptr)
        member.worker->FreeMemory(HasFailed() ? settings().pool : nullptr);
    }
    queued_.store(0, std::memory_order_relaxed);
  }
  memory().Release();
}

ReadyQueues* Run::QueuesBehind(int of, int i) {
  const Member& member = workers_[static_cast<size_t>((of + i) % num_workers())];
  return member.worker == nullptr ? nullptr : &member.worker->queues();
}

// Wakes a thread if what is queued would take longer than waking it.
void Run::AskForHelp() {
  {
    const std::lock_guard lock(mutex_);
    if (parked_ > 0) return NotifyAll();
    if (active_ + asked_ >= settings().parallel.threads - 1) return;
    if (!shared_.load(std::memory_order_relaxed)) {
      // All at once, while nobody else is here: workers look at each other without a lock.
      for (size_t i = 1; i < workers_.size(); ++i) {
        if (workers_[i].worker == nullptr)
          workers_[i].worker = std::make_unique<Worker>(*this, static_cast<int>(i));
      }
      shared_.store(true, std::memory_order_relaxed);
      workers_[0].worker->SetShared(true);
    }
    if (gate_ == nullptr) gate_ = std::make_shared<Gate>(this);
    ++asked_;
    asked_nanos_ = SystemClock().NowNanos();
  }
  try {
    settings().pool->Submit([gate = gate_] { gate->Help(); }, settings().parallel.threads - 1);
  } catch (const std::bad_alloc&) {  // nobody comes
    const std::lock_guard lock(mutex_);
    --asked_;
  }
}

void Run::StopSharing() {
  const std::lock_guard lock(mutex_);
  if (active_ > 0 || asked_ > 0) return;
  shared_.store(false, std::memory_order_relaxed);
  workers_[0].worker->SetShared(false);
}

Worker* Run::Join(int64_t* asked_nanos) {
  const std::lock_guard lock(mutex_);
  --asked_;
  if (HasEnded() || queued_.load(std::memory_order_relaxed) == 0) {
    NotifyAll();
    return nullptr;
  }
  for (size_t i = 1; i < workers_.size(); ++i) {
    if (workers_[i].has_joined) continue;
    workers_[i].has_joined = true;
    *asked_nanos = asked_nanos_;
    ++active_;
    return workers_[i].worker.get();
  }
  return nullptr;
}

void Run::Leave(const Worker* worker) {
  const std::lock_guard lock(mutex_);
  for (Member& member : workers_) member.has_joined &= member.worker.get() != worker;
  --active_;
  NotifyAll();
}

bool Run::WaitForWork() {
  const Clock& clock = SystemClock();
  int64_t spin = shared_.load(std::memory_order_relaxed) ? kSpinNanos : 0;
  if (async_running_.load(std::memory_order_relaxed) > 0)
    spin = std::max(spin, outbox() != nullptr ? outbox()->spin_nanos() : settings().spin_nanos);
  const int64_t spin_until = spin > 0 ? clock.NowNanos() + spin : 0;
  bool has_polled = outbox() == nullptr;
  std::unique_lock lock(mutex_);
  while (true) {
    const bool ended = HasEnded();
    if (ended && active_ == 0 && async_running_.load(std::memory_order_relaxed) == 0) return false;
    if (async_done_.size() > 0) {
      if (!ended) return true;
      lock.unlock();
      TakeAsyncDone();
      lock.lock();
      continue;
    }
    if (!ended && queued_.load(std::memory_order_relaxed) > 0) return true;
    if (!ended && active_ == 0 && async_running_.load(std::memory_order_relaxed) == 0) {
      lock.unlock();
      return EndStalled();
    }
    if (!has_polled || (spin_until != 0 && clock.NowNanos() < spin_until)) {
      lock.unlock();
      SpinOnce();
      has_polled = true;
      lock.lock();
      continue;
    }
    Park(lock);
    has_polled = outbox() == nullptr;
  }
}

// Watches for a moment without the lock.
void Run::SpinOnce() {
  if (outbox() != nullptr) outbox()->Poll();
  for (int i = 0; i < 64; ++i) {
    if (NeedsAttention() || queued_.load(std::memory_order_relaxed) > 0) return;
    if (outbox() != nullptr) {
      outbox()->Poll();
    } else {
      Relax();
    }
  }
}

// Sleeps until something happens, the deadline at the latest; no longer than a probe, or what the
// program around wants done on this thread, may be kept waiting.
void Run::Park(std::unique_lock<std::mutex>& lock) {
  const Cancellation& cancellation = *env().cancellation;
  const int64_t deadline =
      cancellation.IsCancelled() ? Cancellation::kNoDeadline : cancellation.deadline_nanos();
  const int64_t now = SystemClock().NowNanos();
  int64_t left = deadline == Cancellation::kNoDeadline ? deadline : deadline - now;
  if (progress() != nullptr) left = std::min(left, kProbeNanos);
  left = std::min(left, Attention::Patience());
  ++parked_;
  if (outbox() != nullptr) {
    waits_for_outbox_ = true;
    const uint64_t seen = outbox()->wakes();
    lock.unlock();
    outbox()->Wait(seen, std::max<int64_t>(left, 0));
    lock.lock();
    waits_for_outbox_ = false;
  } else if (left == Cancellation::kNoDeadline) {
    changed_.wait(lock);
  } else if (left > 0) {
    changed_.wait_for(lock, std::chrono::nanoseconds(left));
  }
  --parked_;
  std::optional<RunProgress> waiting;
  if (async_calls_.size() > 0 && !cancellation.IsCancelled()) {
    const bool late = deadline != Cancellation::kNoDeadline && SystemClock().NowNanos() >= deadline;
    if (late && late_text_.empty()) late_text_ = WaitingText();
    if (progress() != nullptr && progress()->IsAsked()) {
      waiting = ProgressAt(async_calls_.first()->ready);
      waiting->is_waiting = true;
    }
  }
  lock.unlock();
  if (waiting) progress()->Answer(*waiting);
  Attention::Attend();
  env().cancellation->Poll().IgnoreError();  // past the deadline, this wakes whoever waits
  lock.lock();
}

// Nothing can run any more, but calls are open: some of their nodes wait for what never comes. The
// innermost call has ended then, with the results it has.
bool Run::EndStalled() {
  Activation* innermost = nullptr;
  for (const Member& member : workers_) {
    Activation* const open = member.worker == nullptr ? nullptr : member.worker->InnermostCall();
    if (open != nullptr && (innermost == nullptr || open->depth > innermost->depth))
      innermost = open;
  }
  if (innermost == nullptr) return false;
  is_clean_ = false;
  workers_[0].worker->EndCall(innermost);
  return true;
}

}  // namespace gyre::dataflow
