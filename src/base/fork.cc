#include "base/fork.h"

#include <pthread.h>

#include <atomic>
#include <thread>

namespace gyre {
namespace {

std::atomic<int> threads{0};  // that have a NoFork, or are about to
std::atomic<bool> is_forking{false};
thread_local int held = 0;

void BeforeFork() {
  is_forking.store(true);
  while (threads.load() != 0) std::this_thread::yield();
}

void AfterFork() { is_forking.store(false); }

}  // namespace

NoFork::NoFork() {
  static const bool registered = pthread_atfork(&BeforeFork, &AfterFork, &AfterFork) == 0;
  (void)registered;
  if (held++ != 0) return;  // a fork waits for this thread already
  for (;;) {
    threads.fetch_add(1);
    if (!is_forking.load()) return;
    threads.fetch_sub(1);
    while (is_forking.load()) std::this_thread::yield();
  }
}

NoFork::~NoFork() {
  if (--held == 0) threads.fetch_sub(1);
}

}  // namespace gyre
