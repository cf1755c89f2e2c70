// Ticker: calls again and again until it is gone, and then no more.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/env.h"

namespace gyre {
namespace {

TEST(Ticker, TicksUntilItIsDestroyed) {
  std::mutex mutex;
  std::condition_variable changed;
  int ticks = 0;
  {
    const Ticker ticker(1000, 1000, [&] {
      const std::lock_guard lock(mutex);
      ++ticks;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ticks >= 3; });
  }
  EXPECT_GE(ticks, 3);  // read without the lock: nobody ticks any more
}

TEST(Ticker, OneThatIsDestroyedBeforeItsFirstTickDoesNotWait) {
  std::atomic<int> ticks{0};
  const int64_t began = SystemClock().NowNanos();
  {
    const Ticker ticker(int64_t{3600} * 1'000'000'000, 1, [&] { ++ticks; });
  }
  EXPECT_EQ(ticks, 0);
  EXPECT_LT(SystemClock().NowNanos() - began, int64_t{60} * 1'000'000'000);
}

}  // namespace
}  // namespace gyre
