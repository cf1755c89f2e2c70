// OutputReporter: what a fetch or an observer wants of a node's outputs, before they go on.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "exec/dataflow/frame.h"
#include "exec/engine.h"

namespace gyre::dataflow {

// Of one worker; touched by its thread.
class OutputReporter {
 public:
  // `thread`: the worker's number.
  explicit OutputReporter(int thread) : thread_(thread) {}

  // For the run that begins. Null: nobody observes it.
  void Begin(RunObserver* observer) {
    observer_ = observer;
    is_observed_ = observer != nullptr;
    started_ = 0;
    was_taken_ = false;
  }
  bool is_observed() const { return is_observed_; }
  // When the node that fires began. 0 unless somebody observes.
  int64_t started() const { return started_; }
  void SetStarted(int64_t nanos) { started_ = nanos; }
  // Whether it comes from another thread's queue.
  void SetTaken(bool was_taken) { was_taken_ = was_taken; }

  // The observer's error, or that of a fetched reference that holds nothing.
  absl::Status Report(Ready ready, const Tensor* outputs) const;

 private:
  absl::Status Observe(Ready ready, const Tensor* outputs) const;

  const int thread_;
  RunObserver* observer_ = nullptr;
  bool is_observed_ = false;
  bool was_taken_ = false;
  int64_t started_ = 0;
};

}  // namespace gyre::dataflow
