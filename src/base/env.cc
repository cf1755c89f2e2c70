#include "base/env.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

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
    for (; started < n; ++started) threads.emplace_back(body, started);
  } catch (const std::system_error&) {
    // No more threads to be had: the rest runs below.
  }
  if (n > 0) body(0);
  for (int i = started; i < n; ++i) body(i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace gyre
