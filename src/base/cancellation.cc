#include <utility>

#include "base/env.h"
#include "gyre/core/options.h"

namespace gyre {

Cancellation::Cancellation() : Cancellation(kNoDeadline) {}

Cancellation::Cancellation(int64_t deadline_nanos) : Cancellation(deadline_nanos, SystemClock()) {}

Cancellation::Cancellation(int64_t deadline_nanos, const Clock& clock)
    : clock_(clock), deadline_nanos_(deadline_nanos) {}

void Cancellation::Cancel() { Cancel(absl::CancelledError("the run was cancelled")); }

void Cancellation::Cancel(const absl::Status& why) {
  std::map<int64_t, std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    callbacks.swap(callbacks_);
    cancelled_.store(true, std::memory_order_release);
  }
  for (auto& [id, callback] : callbacks) callback();
}

absl::Status Cancellation::Poll() {
  if (IsCancelled()) return status();
  if (deadline_nanos_ != kNoDeadline && clock_.NowNanos() >= deadline_nanos_) {
    Cancel(absl::DeadlineExceededError("the run's deadline has passed"));
    return status();
  }
  return absl::OkStatus();
}

absl::Status Cancellation::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

int64_t Cancellation::AddCallback(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) {
      const int64_t id = next_id_++;
      callbacks_.emplace(id, std::move(callback));
      return id;
    }
  }
  callback();
  return 0;
}

bool Cancellation::RemoveCallback(int64_t id) {
  const std::lock_guard lock(mutex_);
  return callbacks_.erase(id) > 0;
}

}  // namespace gyre
