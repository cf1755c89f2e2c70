// Work: what preparing a program may cost, from its file to a plan: reading, verifying, passes,
// gradients, lowering, planning.
//
// Whoever asks for it holds his thread to a limit; those who do it say what they spend, and are
// stopped where the limit is reached:
//
//   const WorkLimit limit(&cancellation, budget_bytes);       // whoever asks
//   return RunStage("lowering", [&] { … });                   // each stage
//   SpendWork();                                              // … for each node
//
// What stops a stage is an exception, WorkStopped, which leaves it as running out of memory does,
// and which RunStage makes a Status: no exception leaves a stage. Limits are those of a thread, and
// counts too; nothing here is shared.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "gyre/core/options.h"

namespace gyre {

// Holds what its thread prepares to a limit, as long as it lives; within another one, to both.
class GYRE_INTERNAL_EXPORT WorkLimit {
 public:
  static constexpr int64_t kNoBudget = std::numeric_limits<int64_t>::max();
  // A budget is meant for tensors: what it says of less than this is not held against programs.
  static constexpr int64_t kLeastBudget = 64 << 20;

  // `cancellation` (not owned) may be null. Of what is prepared, at most `budget_bytes`, as
  // SpendWorkMemory counts them.
  explicit WorkLimit(Cancellation* cancellation, int64_t budget_bytes = kNoBudget);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  // OK, or why this thread must stop what it prepares.
  static absl::Status Check();

  // What limits of this thread leave for a run that is part of what it prepares.
  struct Rest {
    int64_t budget_bytes = kNoBudget;
    std::vector<Cancellation*> cancellations;  // of all limits
  };
  static Rest RestOfThread();

 private:
  friend void SpendWorkMemory(int64_t bytes);
  Cancellation* const cancellation_;
  const int64_t budget_;
  int64_t bytes_ = 0;
  WorkLimit* const outer_;
};

// What ends a stage that has spent too much.
class WorkStopped : public std::exception {
 public:
  explicit WorkStopped(absl::Status status) : status_(std::move(status)) {}
  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return "the limit of preparing a program"; }

 private:
  absl::Status status_;
};

namespace internal {

struct WorkMeter {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t spent = 0;
  int64_t next_poll = kNever;
  WorkLimit* limit = nullptr;
  int stages = 0;  // that this thread is in, each within the one before
};
extern constinit thread_local WorkMeter work_meter;

void PollWork();
absl::Status Stopped(const absl::Status& why, absl::string_view stage);
absl::Status OutOfMemory(absl::string_view stage);

}  // namespace internal

// A step is what takes a microsecond or so: a node, an edge that is followed. Throws WorkStopped.
inline void SpendWork(int64_t steps = 1) {
  internal::WorkMeter& meter = internal::work_meter;
  if ((meter.spent += steps) >= meter.next_poll) internal::PollWork();
}
// What has been made and stays: an estimate. Throws WorkStopped.
void SpendWorkMemory(int64_t bytes);
// For functions that call themselves as deep as a program nests. Throws WorkStopped, with
// RESOURCE_EXHAUSTED, where the thread's stack is nearly full. Some nanoseconds.
void CheckStack();
// What a new node usually takes.
inline constexpr int64_t kWorkBytesOfNode = 1024;

// Steps that this thread has ever spent: tests count them.
inline int64_t WorkSpent() { return internal::work_meter.spent; }

// The result of run(), a Status or StatusOr; DEADLINE_EXCEEDED, CANCELLED or RESOURCE_EXHAUSTED if
// the thread's limit stopped it, and RESOURCE_EXHAUSTED if the machine has no memory left. `stage`
// is what is being done, as in "while … the program". Of stages within each other the outermost
// makes the Status.
template <typename Run>
auto RunStage(absl::string_view stage, const Run& run) -> decltype(run()) {
  struct Scope {
    Scope() { ++internal::work_meter.stages; }
    ~Scope() { --internal::work_meter.stages; }
  };
  if (internal::work_meter.stages > 0) return run();
  try {
    const Scope scope;
    return run();
  } catch (const WorkStopped& stopped) {
    return internal::Stopped(stopped.status(), stage);
  } catch (const std::bad_alloc&) {
    return internal::OutOfMemory(stage);
  }
}

}  // namespace gyre
