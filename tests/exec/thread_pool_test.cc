// ThreadPool and the parallel loops on it.
#include "base/thread_pool.h"

#include <atomic>
#include <new>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/env.h"
#include "exec/parallel_for.h"
#include "gtest/gtest.h"

namespace gyre {
namespace {

template <typename Done>
bool Eventually(const Done& done) {
  const int64_t until = SystemClock().NowNanos() + 20'000'000'000;
  while (!done()) {
    if (SystemClock().NowNanos() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ThreadPool, RunsEveryTask) {
  ThreadPool pool;
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) pool.Submit([&] { ran.fetch_add(1); }, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([&] { return ran.load() == 4000; })) << ran.load();
}

TEST(ThreadPool, TasksMaySubmitTasks) {
  ThreadPool pool;
  std::atomic<int> ran{0};
  std::function<void(int)> tree = [&](int depth) {
    ran.fetch_add(1);
    for (int i = 0; depth > 0 && i < 2; ++i) pool.Submit([&, depth] { tree(depth - 1); }, 2);
  };
  pool.Submit([&] { tree(10); }, 2);
  EXPECT_TRUE(Eventually([&] { return ran.load() == 2047; })) << ran.load();
}

TEST(ThreadPool, EndsWithoutTheTasksThatHaveNotBegun) {
  std::atomic<int> ran{0};
  std::atomic<bool> go{false};
  {
    ThreadPool pool;
    pool.Submit(
        [&] {
          while (!go.load()) std::this_thread::yield();
        },
        1);
    for (int i = 0; i < 100; ++i) pool.Submit([&] { ran.fetch_add(1); }, 1);
    std::thread opener([&] { go = true; });
    opener.join();
  }
  EXPECT_LE(ran.load(), 100);
}

// The average tells what waking takes, not how long a machine stood still.
TEST(ThreadPool, WakingIsMeasuredWithinReason) {
  ThreadPool pool;
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> ran{false};
    pool.Submit([&] { ran = true; }, 1);
    ASSERT_TRUE(Eventually([&] { return ran.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(pool.wake_nanos(), 0);
  EXPECT_LE(pool.wake_nanos(), 100'000);
}

class SetClock final : public Clock {
 public:
  int64_t NowNanos() const override { return now; }
  int64_t now = 0;
};

// A machine that was busy once would keep runs from asking for help for ever: nobody asks while
// waking seems to take longer than what there is to do, and so nobody learns better.
TEST(WakeTime, SlowWakesAreForgotten) {
  SetClock clock;
  WakeTime wake(clock);
  EXPECT_EQ(wake.nanos(), WakeTime::kTypical);
  for (int i = 0; i < 100; ++i) wake.Measured(5'000'000);
  EXPECT_GT(wake.nanos(), 90'000);
  EXPECT_LE(wake.nanos(), WakeTime::kLongest);
  clock.now += WakeTime::kHalfLife;
  EXPECT_LE(wake.nanos(), 60'000);
  clock.now += 20 * WakeTime::kHalfLife;
  EXPECT_EQ(wake.nanos(), WakeTime::kTypical);
  wake.Measured(28'000);  // adds to what is left, not to what has been forgotten
  EXPECT_EQ(wake.nanos(), 21'000);
}

TEST(WakeTime, QuickWakesAreRemembered) {
  SetClock clock;
  WakeTime wake(clock);
  for (int i = 0; i < 100; ++i) wake.Measured(3'000);
  clock.now += 1000 * WakeTime::kHalfLife;
  EXPECT_LT(wake.nanos(), 4'000);
}

TEST(PoolParallelFor, CoversEveryElementOnce) {
  ThreadPool pool;
  for (const int threads : {1, 2, 4}) {
    PoolParallelFor parallel(pool, threads);
    for (const int64_t n : {0, 1, 2, 7, 1000, 100'003}) {
      for (const int64_t grain : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1000}, INT64_MAX}) {
        if (n > 1000 && grain == 0) continue;
        std::vector<std::atomic<int>> hits(n);
        parallel.Run(n, grain, [&](int64_t begin, int64_t end) {
          ASSERT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) hits[i].fetch_add(1);
        });
        for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1) << n << " by " << grain;
      }
    }
  }
}

// Takes long enough for other threads to be asked.
void Busy(int64_t nanos) {
  const int64_t until = SystemClock().NowNanos() + nanos;
  while (SystemClock().NowNanos() < until) Relax();
}

TEST(PoolParallelFor, ErrorsOfAnyPieceReachTheCaller) {
  ThreadPool pool;
  PoolParallelFor parallel(pool, 4);
  for (int failing = 0; failing < 20; ++failing) {
    EXPECT_THROW(parallel.Run(20, 1,
                              [&](int64_t begin, int64_t) {
                                Busy(50'000);
                                if (begin == failing) throw std::bad_alloc();
                              }),
                 std::bad_alloc);
    std::atomic<int> ran{0};
    parallel.Run(20, 1, [&](int64_t, int64_t) { ran.fetch_add(1); });
    EXPECT_EQ(ran.load(), 20);
  }
}

TEST(PoolParallelFor, ManyLoopsAtOnceAndOneInsideAnother) {
  ThreadPool pool;
  PoolParallelFor parallel(pool, 3);
  std::vector<std::thread> threads;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        parallel.Run(8, 1, [&](int64_t outer, int64_t) {
          Busy(20'000);
          parallel.Run(8, 2, [&](int64_t begin, int64_t end) {
            Busy(10'000);
            for (int64_t inner = begin; inner < end; ++inner) sum.fetch_add(outer * 8 + inner);
          });
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4 * 20 * (64 * 63 / 2));
}

}  // namespace
}  // namespace gyre
