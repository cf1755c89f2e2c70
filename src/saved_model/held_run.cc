#include "saved_model/held_run.h"

#include <algorithm>

#include "base/env.h"
#include "base/work.h"

namespace gyre {

HeldRun::HeldRun() {
  constexpr int64_t kNanosPerMs = 1'000'000;
  options_.cancellation = cancellation_.get();
  const WorkLimit::Rest rest = WorkLimit::RestOfThread();
  if (rest.budget_bytes != WorkLimit::kNoBudget)
    options_.budget_bytes = std::max<int64_t>(rest.budget_bytes, 1);
  for (Cancellation* const limit : rest.cancellations) {
    callbacks_.emplace_back(
        limit, limit->AddCallback([own = cancellation_, limit] { own->Cancel(limit->status()); }));
    if (limit->deadline_nanos() == Cancellation::kNoDeadline) continue;
    const int64_t left = limit->deadline_nanos() - limit->clock().NowNanos();
    const int64_t timeout = std::max<int64_t>((left + kNanosPerMs - 1) / kNanosPerMs, 1);
    options_.timeout_ms =
        options_.timeout_ms == 0 ? timeout : std::min(options_.timeout_ms, timeout);
  }
}

HeldRun::~HeldRun() {
  for (const auto& [limit, callback] : callbacks_) limit->RemoveCallback(callback);
}

}  // namespace gyre
