#include "base/work.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

// The address below which a thread's stack is nearly full; 0: not known.
uintptr_t StackLimit() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool is_known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  constexpr size_t kMost = 1 << 20;  // what anything else on the way may need
  return is_known ? reinterpret_cast<uintptr_t>(lowest) + std::min(size / 4, kMost) : 0;
}

// Steps between two looks at the clock.
constexpr int64_t kStepsPerPoll = 256;

}  // namespace

namespace internal {

constinit thread_local WorkMeter work_meter;

void PollWork() {
  WorkMeter& meter = work_meter;
  if (meter.stages == 0) return;  // nobody would make a Status of it
  meter.next_poll = meter.spent + kStepsPerPoll;
  if (absl::Status status = WorkLimit::Check(); !status.ok()) {
    meter.next_poll = meter.spent;  // whoever goes on all the same is stopped at the next step
    throw WorkStopped(std::move(status));
  }
}

absl::Status Stopped(const absl::Status& why, absl::string_view stage) {
  return absl::Status(why.code(), absl::StrCat(why.message(), "\n  while ", stage, " the program"));
}

absl::Status OutOfMemory(absl::string_view stage) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the machine has no memory left\n  while ", stage, " the program"));
}

}  // namespace internal

WorkLimit::WorkLimit(Cancellation* cancellation, int64_t budget_bytes)
    : cancellation_(cancellation),
      budget_(std::max(budget_bytes, kLeastBudget)),
      outer_(internal::work_meter.limit) {
  internal::work_meter.limit = this;
  internal::work_meter.next_poll = internal::work_meter.spent;
}

WorkLimit::~WorkLimit() {
  internal::work_meter.limit = outer_;
  internal::work_meter.next_poll =
      outer_ == nullptr ? internal::WorkMeter::kNever : internal::work_meter.spent;
}

absl::Status WorkLimit::Check() {
  for (WorkLimit* limit = internal::work_meter.limit; limit != nullptr; limit = limit->outer_) {
    if (limit->bytes_ > limit->budget_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the program needs more than the budget of ", limit->budget_,
                       " bytes before it runs; a larger budget would let it go on"));
    }
    if (limit->cancellation_ == nullptr) continue;
    if (absl::Status status = limit->cancellation_->Poll(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void CheckStack() {
  thread_local const uintptr_t limit = StackLimit();
  const char here = 0;
  if (reinterpret_cast<uintptr_t>(&here) >= limit || internal::work_meter.stages == 0) return;
  throw WorkStopped(absl::ResourceExhaustedError(
      "functions, branches and loops are nested deeper than the thread's stack has room for: "
      "nest them less deeply, or use a thread with a larger stack"));
}

void SpendWorkMemory(int64_t bytes) {
  for (WorkLimit* limit = internal::work_meter.limit; limit != nullptr; limit = limit->outer_) {
    limit->bytes_ += bytes;
    if (limit->bytes_ > limit->budget_) internal::PollWork();
  }
}

}  // namespace gyre
