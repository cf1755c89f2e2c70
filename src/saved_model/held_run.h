// HeldRun: what a run that is part of loading a model is held to.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/options.h"
#include "gyre/core/session.h"

namespace gyre {

// The limits that hold this thread (PreparationLimit) as those of a run that it starts. The run
// must end before this does. Of one thread.
class HeldRun {
 public:
  HeldRun();
  ~HeldRun();
  HeldRun(const HeldRun&) = delete;
  HeldRun& operator=(const HeldRun&) = delete;

  const RunOptions& options() const { return options_; }
  // Files below this folder only.
  HeldRun& Within(std::string folder) {
    options_.sandbox = std::move(folder);
    return *this;
  }

 private:
  // Shared with callbacks, one of which may still be on its way when the run has ended.
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  RunOptions options_;
  std::vector<std::pair<Cancellation*, int64_t>> callbacks_;
};

}  // namespace gyre
