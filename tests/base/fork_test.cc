#include "base/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace gyre {
namespace {

// Two numbers that are equal whenever nobody holds the lock.
struct Pair {
  std::mutex mutex;
  volatile int first = 0, second = 0;

  void Change() {
    const NoFork no_fork;
    const std::lock_guard lock(mutex);
    first = first + 1;
    const NoFork again;  // nests
    second = second + 1;
  }
};

TEST(NoForkTest, ChildrenFindLocksFreeAndWhatTheyGuardWhole) {
  Pair pair;
  std::atomic<bool> done = false;
  std::thread changes([&] {
    while (!done) pair.Change();
  });
  while (pair.first == 0) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const bool is_whole = pair.mutex.try_lock() && pair.first == pair.second;
      if (is_whole) pair.mutex.unlock();
      if (is_whole) pair.Change();  // a child may go on
      _exit(is_whole ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "at fork " << i;
  }
  done = true;
  changes.join();
}

}  // namespace
}  // namespace gyre
