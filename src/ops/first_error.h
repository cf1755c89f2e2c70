// FirstError: what went wrong first in pieces of work that run in parallel. Thread-safe; owned by who
// waits for the pieces.
#pragma once

#include <mutex>
#include <utility>

#include "absl/status/status.h"

namespace gyre {

class FirstError {
 public:
  void Set(absl::Status status) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  absl::Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  std::mutex mutex_;
  absl::Status status_;
};

}  // namespace gyre
