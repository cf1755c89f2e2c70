// RunOnThreads: every index once, all done on return.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "base/env.h"

namespace gyre {
namespace {

TEST(RunOnThreads, CallsEachIndexOnceAndWaits) {
  std::array<std::atomic<int>, 8> calls{};
  RunOnThreads(8, [&](int i) { ++calls[i]; });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST(RunOnThreads, OneRunsOnTheCallersThreadAndNoneNotAtAll) {
  const thread_local int here = 0;
  const int* there = nullptr;
  RunOnThreads(1, [&](int) { there = &here; });
  EXPECT_EQ(there, &here);
  RunOnThreads(0, [](int) { FAIL(); });
}

TEST(RunOnThreads, ThreadsRunAtTheSameTime) {
  // Each waits for the other: this ends only if both are there at once.
  std::atomic<int> arrived = 0;
  RunOnThreads(2, [&](int) {
    ++arrived;
    while (arrived < 2) {
    }
  });
  EXPECT_EQ(arrived, 2);
}

TEST(NumProcessors, IsAtLeastOne) { EXPECT_GE(NumProcessors(), 1); }

}  // namespace
}  // namespace gyre
