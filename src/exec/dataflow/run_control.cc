#include "exec/dataflow/run_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "exec/dataflow/origin.h"

namespace gyre::dataflow {
namespace {

constexpr size_t kMaxWaitingShown = 8;

}  // namespace

void RunControl::Begin(absl::Span<const Tensor> feeds, RunEnv& env, const RunHooks& hooks) {
  feeds_ = feeds;
  env_ = &env;
  hooks_ = hooks;
  outbox_ = env.rendezvous == nullptr ? nullptr : env.rendezvous->outbox();
  memory_.Begin(env.budget);
  status_ = absl::OkStatus();
  late_text_.clear();
  results_.clear();
  attention_.store(0, std::memory_order_relaxed);
}

absl::StatusOr<std::vector<Tensor>> RunControl::TakeResults() {
  if (HasFailed()) return status_;
  return std::move(results_);
}

void RunControl::Fail(const absl::Status& status, Ready where) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    // A kernel that was told to stop reports "cancelled"; what counts is why.
    const absl::Status why = env_->cancellation->status();
    const absl::Status& cause =
        !why.ok() && (IsDerivedError(status) || why.code() == status.code()) ? why : status;
    status_ = CatchOutOfMemory(kThisRun, [&] {
      return absl::Status(cause.code(),
                          absl::StrCat(cause.message(), late_text_, Locate(where, status)));
    });
    Raise(kFailed);
    NotifyAll();
  }
  env_->cancellation->Cancel(status_);
}

void RunControl::Succeed(std::vector<Tensor> results) {
  results_ = std::move(results);
  Raise(kDone);
  if (!shared_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  NotifyAll();
}

void RunControl::NotifyAll() {
  changed_.notify_all();
  if (waits_for_outbox_) outbox_->Wake();
}

void RunControl::AsyncStarted(AsyncCall* call) {
  const std::lock_guard lock(mutex_);
  async_running_.fetch_add(1, std::memory_order_relaxed);
  async_calls_.Add(call);
}

void RunControl::AsyncForgotten(AsyncCall* call) {
  const std::lock_guard lock(mutex_);
  async_running_.fetch_sub(1, std::memory_order_relaxed);
  async_calls_.Remove(call);
}

void RunControl::AsyncDone(AsyncCall* call) noexcept {
  const std::lock_guard lock(mutex_);
  async_calls_.Remove(call);
  async_done_.Add(call);
  Raise(kAsyncDone);
  NotifyAll();
}

AsyncCalls RunControl::TakeAsyncDone() {
  const std::lock_guard lock(mutex_);
  attention_.fetch_and(~kAsyncDone, std::memory_order_relaxed);
  async_running_.fetch_sub(async_done_.size(), std::memory_order_relaxed);
  return std::move(async_done_);
}

std::string RunControl::WaitingText() const {
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

}  // namespace gyre::dataflow
