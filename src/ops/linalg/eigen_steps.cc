#include "ops/linalg/eigen_steps.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace gyre {
namespace {

using Steady = std::chrono::steady_clock;

// Between two looks.
constexpr Steady::duration kShort = std::chrono::microseconds(200);
constexpr Steady::duration kLong = std::chrono::milliseconds(2);
constexpr int32_t kMostSteps = 1 << 14;

// Of this thread: whose run is asked, and how often. Steps take from nanoseconds (an element) to
// milliseconds (a product), so their number between looks follows the clock.
thread_local const KernelContext* watched = nullptr;
thread_local int32_t steps_between_looks = 1;
thread_local Steady::time_point last_look;

}  // namespace

constinit thread_local int32_t EigenWatch::steps_until_look_ = 0;

EigenWatch::EigenWatch(const KernelContext& ctx) {
  watched = &ctx;
  steps_between_looks = 8;
  steps_until_look_ = steps_between_looks;
  last_look = Steady::now();
}

EigenWatch::~EigenWatch() {
  watched = nullptr;
  steps_until_look_ = 0;
}

void EigenWatch::Look() {
  if (watched == nullptr) {
    steps_until_look_ = std::numeric_limits<int32_t>::max();
    return;
  }
  const Steady::time_point now = Steady::now();
  if (now - last_look < kShort) {
    steps_between_looks = std::min(2 * steps_between_looks, kMostSteps);
  } else if (now - last_look > kLong) {
    steps_between_looks = std::max(steps_between_looks / 4, 1);
  }
  last_look = now;
  steps_until_look_ = steps_between_looks;
  if (!watched->Poll().ok()) throw GivenUp();
}

}  // namespace gyre
