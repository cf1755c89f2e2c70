// FirstError: of what goes wrong in pieces of work that run in parallel, what comes first in the
// order of the work, however threads divide it. Thread-safe; owned by who waits for the pieces.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

namespace gyre {

class FirstError {
 public:
  // At `place`. A piece must not go on behind its first error.
  void Set(int64_t place, absl::Status status) {
    const std::lock_guard lock(mutex_);
    if (place >= place_) return;
    place_ = place;
    status_ = std::move(status);
  }
  absl::Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  std::mutex mutex_;
  int64_t place_ = std::numeric_limits<int64_t>::max();
  absl::Status status_;
};

}  // namespace gyre
