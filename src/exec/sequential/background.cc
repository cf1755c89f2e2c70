#include "exec/sequential/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/fork.h"
#include "base/thread_pool.h"
#include "compiled/library.h"

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

// What the code generator's library has at its end must not go while a task uses it, nor while it
// is being loaded. A handler of exit() runs before those that the library registers only if it
// comes behind them, which is too late for a process that ends while the library is loaded. What a
// thread has for itself goes before all handlers: so the main thread, which is the one that ends
// most processes, looks after it that way, and a handler does for the others.
std::atomic<bool> has_stopped{false};

struct EndOfThread {
  ~EndOfThread() {
    if (syscall(SYS_gettid) == getpid()) StopCompiling();
  }
};

void StopAtExit() {
  static const bool registered = [] {
    if (!compiled::LoadCompiler().ok()) return false;
    return std::atexit(&StopCompiling) == 0;
  }();
  (void)registered;
}

}  // namespace

bool HasStoppedCompiling() { return has_stopped.load(); }

void StopCompilingAtExit() {
  static thread_local const EndOfThread end;
  (void)end;
}

void CompileInBackground(std::function<void()> task) {
  StopCompilingAtExit();
  const auto run = [task = std::move(task)] {
    const NoFork no_fork;
    StopAtExit();  // loads the library: others may wait for the loader's locks, so at once
    static thread_local const int priority = setpriority(PRIO_PROCESS, 0, kNice);
    (void)priority;
    if (!has_stopped.load()) task();
  };
  Compilers().Submit(run, 1);
}

}  // namespace gyre::sequential

void gyre::StopCompiling() {
  sequential::has_stopped.store(true);
  sequential::Compilers().Stop();
}
