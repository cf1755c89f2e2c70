#include "base/env.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/signals.h"

namespace gyre {
namespace {
class SteadyClock final : public Clock {
 public:
  int64_t NowNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};
}  // namespace

const Clock& SystemClock() {
  static const SteadyClock* const clock = new SteadyClock;
  return *clock;
}

int NumProcessors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void RunOnThreads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  int started = 1;
  try {
    threads.reserve(static_cast<size_t>(std::max(n, 0)));  // a thread must not be lost
    for (; started < n; ++started)
      threads.push_back(StartThread([&body, started] { body(started); }));
  } catch (const std::system_error&) {
    // No more threads to be had: the rest runs below.
  } catch (const std::bad_alloc&) {
    // Nor is there memory for one.
  }
  if (n > 0) body(0);
  for (int i = started; i < n; ++i) body(i);
  for (std::thread& thread : threads) thread.join();
}

struct Ticker::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
  std::thread thread;
};

Ticker::Ticker(int64_t first_nanos, int64_t period_nanos, std::function<void()> tick)
    : state_(std::make_unique<State>()) {
  const auto work = [state = state_.get(), first_nanos, period_nanos, tick = std::move(tick)] {
    auto next = std::chrono::steady_clock::now() + std::chrono::nanoseconds(first_nanos);
    std::unique_lock lock(state->mutex);
    while (!state->changed.wait_until(lock, next, [state] { return state->stopping; })) {
      lock.unlock();
      tick();
      lock.lock();
      next =
          std::max(next, std::chrono::steady_clock::now()) + std::chrono::nanoseconds(period_nanos);
    }
  };
  try {
    state_->thread = StartThread(work);
  } catch (const std::system_error&) {
    // No thread to be had: nobody ticks.
  } catch (const std::bad_alloc&) {
    // Nor is there memory for one.
  }
}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace gyre
