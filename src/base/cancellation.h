// Cancellation: how one run is told to stop, by its caller, by its deadline, or by its first error.
//
// Thread-safe. `IsCancelled` is one relaxed load; `Poll` also reads the clock when there is a
// deadline. Callbacks run on the thread that cancels, exactly once, and never under the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "base/env.h"

namespace gyre {

class Cancellation {
 public:
  static constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();

  explicit Cancellation(int64_t deadline_nanos = kNoDeadline, const Clock& clock = SystemClock())
      : clock_(clock), deadline_nanos_(deadline_nanos) {}

  // The first call decides the status (which must not be OK) and runs the callbacks; later ones do
  // nothing.
  void Cancel(const absl::Status& why);

  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // OK, or why the run must stop. Cancels with DEADLINE_EXCEEDED once the deadline has passed.
  absl::Status Poll();
  // Why it was cancelled; OK when it was not.
  absl::Status status() const;
  int64_t deadline_nanos() const { return deadline_nanos_; }
  const Clock& clock() const { return clock_; }

  // Calls `callback` upon cancellation, at once if that has happened. Returns an id for
  // RemoveCallback.
  int64_t AddCallback(std::function<void()> callback);
  // False when the callback has run or is running.
  bool RemoveCallback(int64_t id);

 private:
  const Clock& clock_;
  const int64_t deadline_nanos_;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards what follows
  absl::Status status_;
  int64_t next_id_ = 1;
  std::map<int64_t, std::function<void()>> callbacks_;
};

}  // namespace gyre
