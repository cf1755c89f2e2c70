// A process that ends while threads load the code generator, compile, or run what it has made.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "exec/register_loop.h"
#include "support/compile_setting.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

std::string Decay() {
  return LoopText(
      "%a = Const() value=float32{0.9999} : float32\n"
      "%b = Const() value=float32{0.25} : float32\n"
      "%p = Mul(%x, %a) : float32\n%y = AddV2(%p, %b) : float32\n"
      "%m = Identity(%l) : variant");
}

// Runs in a process of its own, in which the main thread has made no session.
void RunElsewhere(int n) {
  std::thread([n] { (void)SessionFor(Decay())->Run(LoopFeeds(n, 1), {"loop:2"}); }).join();
}
void RunAndLeave(int threads) {
  for (int i = 0; i < threads; ++i)
    std::thread([] {
      (void)SessionFor(Decay())->Run(LoopFeeds(INT32_MAX, 1), {"loop:2"});
    }).detach();
}

class AtExit : public ::testing::Test {
 protected:
  AtExit() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// The loop of a thread that has ended is being compiled.
TEST_F(AtExit, WhileALoopBecomesHot) {
  for (int n = 60'000; n < 260'000; n += 10'000) {
    EXPECT_EXIT(
        {
          RunElsewhere(n);
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "")
        << n;
  }
}

// The process ends `ms` milliseconds after its threads have begun.
void ExpectEndWhileThreadsRun(int threads, int ms) {
  EXPECT_EXIT(
      {
        RunAndLeave(threads);
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "")
      << ms;
}

TEST_F(AtExit, WhileThreadsCompileBeforeTheyRun) {
  const CompileSetting always("always");
  for (int ms = 0; ms < 60; ms += 4) ExpectEndWhileThreadsRun(3, ms);
}

TEST_F(AtExit, WhileThreadsRunHotLoops) {
  for (int ms = 0; ms < 120; ms += 8) ExpectEndWhileThreadsRun(2, ms);
}

// exit() on another thread than the main one.
TEST_F(AtExit, OnAnyThread) {
  for (int ms = 30; ms < 90; ms += 6) {
    EXPECT_EXIT(
        {
          RunAndLeave(1);
          std::thread([ms] {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            (void)SessionFor(Decay())->Run(LoopFeeds(10, 1), {"loop:2"});
            std::exit(0);
          }).join();
        },
        ::testing::ExitedWithCode(0), "")
        << ms;
  }
}

// A handler of exit() takes so long that all of it, from loading the code generator to native code,
// happens meanwhile.
TEST_F(AtExit, WhileHandlersRun) {
  for (int ms = 0; ms < 30; ms += 3) {
    EXPECT_EXIT(
        {
          std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); });
          RunAndLeave(2);
          std::thread([ms] {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            std::exit(0);
          }).join();
        },
        ::testing::ExitedWithCode(0), "")
        << ms;
  }
}

}  // namespace
}  // namespace gyre::testing
