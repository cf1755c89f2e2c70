#include "base/work.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/stack.h"

namespace gyre {
namespace {

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

WorkLimit::Rest WorkLimit::RestOfThread() {
  Rest rest;
  for (WorkLimit* limit = internal::work_meter.limit; limit != nullptr; limit = limit->outer_) {
    if (limit->budget_ != kNoBudget)
      rest.budget_bytes = std::min(rest.budget_bytes, limit->budget_ - limit->bytes_);
    if (limit->cancellation_ != nullptr) rest.cancellations.push_back(limit->cancellation_);
  }
  return rest;
}

void CheckStack() {
  if (!StackIsNearlyFull() || internal::work_meter.stages == 0) return;
  throw WorkStopped(StackError());
}

void SpendWorkMemory(int64_t bytes) {
  for (WorkLimit* limit = internal::work_meter.limit; limit != nullptr; limit = limit->outer_) {
    limit->bytes_ += bytes;
    if (limit->bytes_ > limit->budget_) internal::PollWork();
  }
}

}  // namespace gyre
