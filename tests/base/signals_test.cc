// Which signals reach which threads.
#include "base/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>

#include "base/env.h"
#include "base/thread_pool.h"

namespace gyre {
namespace {

std::atomic<int> handled{0};

class Handler {
 public:
  explicit Handler(int number) : number_(number) {
    handled = 0;
    struct sigaction ours = {};
    ours.sa_handler = [](int) { ++handled; };
    sigaction(number, &ours, &before_);
  }
  ~Handler() { sigaction(number_, &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  const int number_;
  struct sigaction before_;
};

bool Takes(int number) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, number) == 0;
}

TEST(NoSignals, HandlersRunOnceItIsGone) {
  const Handler handler(SIGUSR1);
  {
    const NoSignals no_signals;
    pthread_kill(pthread_self(), SIGUSR1);
    EXPECT_EQ(handled, 0);
    {
      const NoSignals within;
    }
    EXPECT_EQ(handled, 0);
  }
  EXPECT_EQ(handled, 1);
  pthread_kill(pthread_self(), SIGUSR1);
  EXPECT_EQ(handled, 2);
}

// Asks a thread of each kind that Gyre starts.
void OnEachKindOfThread(const std::function<void()>& body) {
  StartThread(body).join();
  StartThread([&] { StartThread(body).join(); }).join();
  std::atomic<int> done{0};
  RunOnThreads(2, [&](int i) {
    if (i == 1) body();
  });
  {
    ThreadPool pool;
    pool.Submit(
        [&] {
          body();
          done = 1;
          done.notify_all();
        },
        1);
    done.wait(0);
  }
  const Ticker ticker(1000, 1'000'000'000, [&] {
    body();
    done = 2;
    done.notify_all();
  });
  done.wait(1);
}

TEST(ThreadSignals, ThoseOfTheProcessAreForTheThreadsOfItsProgram) {
  OnEachKindOfThread([] {
    for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGRTMIN})
      EXPECT_FALSE(Takes(number)) << number;
    for (const int number : {SIGSEGV, SIGFPE, SIGABRT, SIGPIPE, SIGPROF})
      EXPECT_TRUE(Takes(number)) << number;
  });
  EXPECT_TRUE(Takes(SIGINT)) << "the thread that starts others stays as it is";
}

TEST(ThreadSignals, FunctionsOfTheUserFindWhatTheirThreadsHave) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
  OnEachKindOfThread([&] {
    {
      const CallersSignals signals;
      EXPECT_TRUE(Takes(SIGINT));
      EXPECT_FALSE(Takes(SIGUSR2));
      pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
    }
    EXPECT_FALSE(Takes(SIGINT));
    EXPECT_FALSE(Takes(SIGUSR2));
  });
  {
    const CallersSignals signals;
    EXPECT_FALSE(Takes(SIGUSR2)) << "this thread is not Gyre's";
    EXPECT_TRUE(Takes(SIGINT));
  }
  pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
}

}  // namespace
}  // namespace gyre
