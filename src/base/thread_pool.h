// ThreadPool: threads that wait for something to do, between ops and within them alike.
//
// A process needs one (Shared): runs and kernels share it, so that a machine's cores are asked for
// once. Threads are started when they are first needed. A thread that has run out of tasks looks
// out for another for some microseconds before it sleeps, since waking it costs more than that.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/internal_export.h"

namespace gyre {

// What it takes to wake a sleeping thread: a running average, kTypical to begin with. Whoever finds
// it too long wakes nobody, so that nothing is measured: what is more than kTypical is forgotten,
// by half in kHalfLife. Thread-safe; a hint, which may miss one of two measurements at once.
class GYRE_INTERNAL_EXPORT WakeTime {
 public:
  static constexpr int64_t kTypical = 20'000;   // in nanoseconds, as all here
  static constexpr int64_t kLongest = 100'000;  // more is a machine that stood still
  static constexpr int64_t kHalfLife = 10'000'000;

  // `clock` must outlive it.
  explicit WakeTime(const Clock& clock = SystemClock()) : clock_(clock) {}

  int64_t nanos() const;
  void Measured(int64_t nanos);

 private:
  static constexpr int64_t kAveraged = 8;  // weight of a new measurement: 1 / 8

  const Clock& clock_;
  std::atomic<int64_t> average_{kTypical};
  std::atomic<int64_t> measured_at_{0};
};

// Thread-safe.
class GYRE_INTERNAL_EXPORT ThreadPool {
 public:
  ThreadPool() = default;
  // Waits for the tasks that run; those that have not begun are dropped.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Waits for the tasks that run, and drops those that have not begun, and all that come. Any
  // thread but the pool's own.
  void Stop();

  // The process's pool. Lives for ever; in a child of fork() it starts anew, without tasks.
  static ThreadPool& Shared();

  // Runs `task` on a thread of the pool, soon. A new thread is started if all are busy and there
  // are fewer than `max_threads`. The task must not throw. Throws std::bad_alloc, and drops the
  // task, when there is no memory to take note of it, or no thread and none to be had.
  void Submit(std::function<void()> task, int max_threads);

  // What it takes from Submit until a sleeping thread has begun, in nanoseconds.
  int64_t wake_nanos() const { return wake_.nanos(); }

 private:
  struct Task {
    std::function<void()> run;
    int64_t submitted = 0;
  };
  void Work();
  bool Next(Task* task);
  void AddThread();  // if there is one to be had; holds mutex_

  WakeTime wake_;
  std::atomic<int> queued_{0};  // tasks_.size(), for those that look without the lock
  std::mutex mutex_;            // guards what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  int idle_ = 0;  // threads that sleep or look out for a task
  bool stopping_ = false;
};

// Tells the processor that this thread only waits for another.
inline void Relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace gyre
