#include "exec/sequential/background.h"

#include <pthread.h>
#include <sys/resource.h>

#include <new>
#include <utility>

#include "base/thread_pool.h"

namespace gyre::sequential {
namespace {

// Of the thread: below what computes, yet not without any time on a machine that is busy.
constexpr int kNice = 5;

// As ThreadPool::Shared: it lives for ever, and a child of fork() has a new one at its address.
ThreadPool& Compilers() {
  static ThreadPool* const pool = [] {
    static ThreadPool* const made = new ThreadPool;
    pthread_atfork(nullptr, nullptr, [] { new (made) ThreadPool; });
    return made;
  }();
  return *pool;
}

}  // namespace

void CompileInBackground(std::function<void()> task) {
  const auto run = [task = std::move(task)] {
    static thread_local const int priority = setpriority(PRIO_PROCESS, 0, kNice);
    (void)priority;
    task();
  };
  Compilers().Submit(run, 1);
}

}  // namespace gyre::sequential
