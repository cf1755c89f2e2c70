#include "exec/dataflow/run.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/attention.h"
#include "base/env.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "exec/dataflow/worker.h"
#include "exec/sequential/loop.h"

namespace gyre::dataflow {
namespace {

// What a run keeps for the next one, in bytes.
constexpr size_t kKeptMemory = 1 << 20;
// How long worker 0 looks out for work before it sleeps: about what waking it would cost.
constexpr int64_t kLookOutNanos = 20'000;
// How long a probe may be kept waiting.
constexpr int64_t kProbeNanos = 50'000'000;
constexpr size_t kMaxWaitingShown = 8;

}  // namespace

void AsyncCalls::Add(AsyncCall* call) {
  call->previous = last_;
  call->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = call;
  last_ = call;
  ++size_;
}

void AsyncCalls::Remove(AsyncCall* call) {
  (call->previous == nullptr ? first_ : call->previous->next) = call->next;
  (call->next == nullptr ? last_ : call->next->previous) = call->previous;
  --size_;
}

std::unique_ptr<AsyncCall> AsyncCalls::TakeFirst() {
  AsyncCall* const call = first_;
  if (call != nullptr) Remove(call);
  return std::unique_ptr<AsyncCall>(call);
}

// Where threads that were asked for help find the run, or that it is over.
class Run::Gate {
 public:
  explicit Gate(Run* run) : run_(run) {}

  void Help() {
    Run* run = nullptr;
    Worker* worker = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (run_ == nullptr) return;
      run = run_;
      worker = run->Join();
    }
    if (worker == nullptr) return;
    worker->Help();
    run->Leave(*worker);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    run_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Run* run_;  // guarded by mutex_; null once the run is over
};

Run::Run(const Plan& plan, const RunSettings& settings) : plan_(plan), settings_(settings) {
  workers_.resize(std::max(settings.threads, 1));
  workers_[0] = std::make_unique<Worker>(*this, 0);
}

Run::~Run() = default;

absl::StatusOr<std::vector<Tensor>> Run::Execute(absl::Span<const Tensor> feeds, RunEnv& env,
                                                 const RunHooks& hooks) {
  if (absl::Status status = env.cancellation->Poll(); !status.ok()) return status;
  Reset(feeds, env, hooks);
  workers_[0]->WorkToTheEnd(plan_.main());
  Finish();
  if ((attention_.load(std::memory_order_relaxed) & kFailed) != 0) return status_;
  return std::move(results_);
}

void Run::Reset(absl::Span<const Tensor> feeds, RunEnv& env, const RunHooks& hooks) {
  feeds_ = feeds;
  env_ = &env;
  hooks_ = hooks;
  courier_ = env.rendezvous == nullptr ? nullptr : env.rendezvous->courier();
  status_ = absl::OkStatus();
  late_text_.clear();
  results_.clear();
  attention_.store(0, std::memory_order_relaxed);
  is_clean_ = true;
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
  size_t memory = 0;
  for (const auto& worker : workers_) memory += worker == nullptr ? 0 : worker->memory();
  const bool failed = (attention_.load(std::memory_order_relaxed) & kFailed) != 0;
  if (failed || !is_clean_ || memory > kKeptMemory) {
    for (const auto& worker : workers_) {
      if (worker != nullptr) worker->FreeMemory(failed);
    }
    queued_.store(0, std::memory_order_relaxed);
  }
  if (env_->budget != nullptr)
    env_->budget->Release(charged_.exchange(0, std::memory_order_relaxed));
}

void Run::Fail(const absl::Status& status, Ready where) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    // A kernel that was told to stop reports "cancelled"; what counts is why.
    const absl::Status why = env_->cancellation->status();
    const absl::Status& cause =
        !why.ok() && (IsDerivedError(status) || why.code() == status.code()) ? why : status;
    status_ = CatchOutOfMemory(kThisRun, [&] {
      return absl::Status(cause.code(),
                          absl::StrCat(cause.message(), late_text_,
                                       Locate(where, sequential::WhereInside(status))));
    });
    Raise(kFailed);
    NotifyAll();
  }
  env_->cancellation->Cancel(status_);
}

bool Run::Charge(size_t bytes) {
  if (env_->budget == nullptr) return true;
  const auto n = static_cast<int64_t>(bytes);
  if (!env_->budget->Charge(n)) return false;
  charged_.fetch_add(n, std::memory_order_relaxed);
  return true;
}

void Run::End() {
  Raise(kDone);
  if (!shared_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  NotifyAll();
}

void Run::NotifyAll() {
  changed_.notify_all();
  if (waits_for_courier_) courier_->Wake();
}

void Run::AsyncStarted(AsyncCall* call) {
  const std::lock_guard lock(mutex_);
  async_running_.fetch_add(1, std::memory_order_relaxed);
  async_calls_.Add(call);
}

void Run::AsyncForgotten(AsyncCall* call) {
  const std::lock_guard lock(mutex_);
  async_running_.fetch_sub(1, std::memory_order_relaxed);
  async_calls_.Remove(call);
}

void Run::AsyncDone(AsyncCall* call) noexcept {
  const std::lock_guard lock(mutex_);
  async_calls_.Remove(call);
  async_done_.Add(call);
  Raise(kAsyncDone);
  NotifyAll();
}

AsyncCalls Run::TakeAsyncDone() {
  const std::lock_guard lock(mutex_);
  attention_.fetch_and(~kAsyncDone, std::memory_order_relaxed);
  async_running_.fetch_sub(async_done_.size(), std::memory_order_relaxed);
  return std::move(async_done_);
}

// Wakes a thread if what is queued would take longer than waking it.
void Run::AskForHelp() {
  {
    const std::lock_guard lock(mutex_);
    if (parked_ > 0) return NotifyAll();
    if (active_ + asked_ >= settings_.threads - 1) return;
    if (!shared_.load(std::memory_order_relaxed)) {
      // All at once, while nobody else is here: workers look at each other without a lock.
      for (size_t i = 1; i < workers_.size(); ++i) {
        if (workers_[i] == nullptr)
          workers_[i] = std::make_unique<Worker>(*this, static_cast<int>(i));
      }
      shared_.store(true, std::memory_order_relaxed);
      workers_[0]->shared_ = true;
    }
    if (gate_ == nullptr) gate_ = std::make_shared<Gate>(this);
    ++asked_;
    asked_nanos_ = SystemClock().NowNanos();
  }
  try {
    settings_.pool->Submit([gate = gate_] { gate->Help(); }, settings_.threads - 1);
  } catch (const std::bad_alloc&) {  // nobody comes
    const std::lock_guard lock(mutex_);
    --asked_;
  }
}

// Nobody has joined, or all have left: what nobody else can see need not be atomic.
void Run::StopSharing(Worker& worker) {
  const std::lock_guard lock(mutex_);
  if (active_ > 0 || asked_ > 0) return;
  shared_.store(false, std::memory_order_relaxed);
  worker.shared_ = false;
}

Worker* Run::Join() {
  const std::lock_guard lock(mutex_);
  --asked_;
  if (HasEnded() || queued_.load(std::memory_order_relaxed) == 0) {
    NotifyAll();
    return nullptr;
  }
  for (size_t i = 1; i < workers_.size(); ++i) {
    if (workers_[i]->is_joined_) continue;
    workers_[i]->is_joined_ = true;
    workers_[i]->asked_nanos_ = asked_nanos_;
    ++active_;
    return workers_[i].get();
  }
  return nullptr;
}

void Run::Leave(Worker& worker) {
  const std::lock_guard lock(mutex_);
  worker.is_joined_ = false;
  --active_;
  NotifyAll();
}

bool Run::WaitForWork(Worker& worker) {
  const Clock& clock = SystemClock();
  int64_t look_out = shared_.load(std::memory_order_relaxed) ? kLookOutNanos : 0;
  if (async_running_.load(std::memory_order_relaxed) > 0)
    look_out = std::max(
        look_out, courier_ != nullptr ? courier_->look_out_nanos() : settings_.look_out_nanos);
  const int64_t look_out_until = look_out > 0 ? clock.NowNanos() + look_out : 0;
  bool has_polled = courier_ == nullptr;
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
      return EndStalled(worker);
    }
    if (!has_polled || (look_out_until != 0 && clock.NowNanos() < look_out_until)) {
      lock.unlock();
      LookOut();
      has_polled = true;
      lock.lock();
      continue;
    }
    Park(lock);
    has_polled = courier_ == nullptr;
  }
}

// Watches for a moment without the lock.
void Run::LookOut() {
  if (courier_ != nullptr) courier_->Poll();
  constexpr uint32_t kAny = kFailed | kDone | kAsyncDone;
  for (int i = 0; i < 64; ++i) {
    if ((attention_.load(std::memory_order_relaxed) & kAny) != 0 ||
        queued_.load(std::memory_order_relaxed) > 0) {
      return;
    }
    if (courier_ != nullptr) {
      courier_->Poll();
    } else {
      Relax();
    }
  }
}

// Sleeps until something happens, the deadline at the latest; no longer than a probe, or what the
// program around wants done on this thread, may be kept waiting.
void Run::Park(std::unique_lock<std::mutex>& lock) {
  const Cancellation& cancellation = *env_->cancellation;
  const int64_t deadline =
      cancellation.IsCancelled() ? Cancellation::kNoDeadline : cancellation.deadline_nanos();
  const int64_t now = SystemClock().NowNanos();
  int64_t left = deadline == Cancellation::kNoDeadline ? deadline : deadline - now;
  if (hooks_.progress != nullptr) left = std::min(left, kProbeNanos);
  left = std::min(left, Attention::Patience());
  ++parked_;
  if (courier_ != nullptr) {
    waits_for_courier_ = true;
    const uint64_t seen = courier_->wakes();
    lock.unlock();
    courier_->Wait(seen, std::max<int64_t>(left, 0));
    lock.lock();
    waits_for_courier_ = false;
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
    if (hooks_.progress != nullptr && hooks_.progress->IsAsked()) {
      waiting = ProgressAt(async_calls_.first()->ready);
      waiting->is_waiting = true;
    }
  }
  lock.unlock();
  if (waiting) hooks_.progress->Answer(*waiting);
  Attention::Attend();
  env_->cancellation->Poll().IgnoreError();  // past the deadline, this wakes whoever waits
  lock.lock();
}

// What a run that is told to stop was waiting for. Requirement: mutex_ is held.
std::string Run::WaitingText() const {
  std::vector<std::string> names;
  for (const AsyncCall* call = async_calls_.first(); call != nullptr; call = call->next) {
    const Node& node = *call->ready.iteration->nodes[call->ready.node()].node;
    names.push_back(absl::StrCat(node.name, " (", node.op_name, ")"));
  }
  std::sort(names.begin(), names.end());
  if (names.size() > kMaxWaitingShown) {
    const size_t more = names.size() - kMaxWaitingShown;
    names.resize(kMaxWaitingShown);
    names.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrCat(", waiting for ", absl::StrJoin(names, ", "));
}

// Nothing can run any more, but calls are open: some of their nodes wait for what never comes. The
// innermost call has ended then, with the results it has.
bool Run::EndStalled(Worker& worker) {
  Activation* innermost = nullptr;
  for (const auto& other : workers_) {
    for (Activation* a = other == nullptr ? nullptr : other->made_activations_; a != nullptr;
         a = a->next_made) {
      if (a->in_use && (innermost == nullptr || a->depth > innermost->depth)) innermost = a;
    }
  }
  if (innermost == nullptr) return false;
  is_clean_ = false;
  worker.EndActivation(innermost);
  return true;
}

}  // namespace gyre::dataflow
