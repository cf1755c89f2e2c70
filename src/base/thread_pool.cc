#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/env.h"
#include "base/signals.h"

namespace gyre {
namespace {
// How long a thread looks out for a task before it sleeps: about what waking it would cost.
constexpr int64_t kSpinNanos = 20'000;
// Weight of a new measurement in the average: 1 / 8.
constexpr int64_t kAveraged = 8;
// More than this is no wake-up but a machine that stood still. Taken at its word, it would keep
// runs from ever asking for help again, and so from ever learning better.
constexpr int64_t kLongestWake = 100'000;
}  // namespace

ThreadPool& ThreadPool::Shared() {
  static ThreadPool* const pool = [] {
    static ThreadPool* const made = new ThreadPool;
    // A child of fork() has none of the threads, and locks as they were held at that moment. What
    // the pool was made of is abandoned there, and it starts anew at the same address.
    pthread_atfork(nullptr, nullptr, [] { new (made) ThreadPool; });
    return made;
  }();
  return *pool;
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
    queued_.store(0, std::memory_order_relaxed);
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void ThreadPool::Submit(std::function<void()> task, int max_threads) {
  const int64_t now = SystemClock().NowNanos();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const bool all_busy = idle_ <= static_cast<int>(tasks_.size());
    if (all_busy && static_cast<int>(threads_.size()) < max_threads) AddThread();
    if (threads_.empty() && max_threads > 0) throw std::bad_alloc();
    tasks_.push_back({std::move(task), now});
    queued_.store(static_cast<int>(tasks_.size()), std::memory_order_release);
  }
  changed_.notify_one();
}

void ThreadPool::AddThread() {
  try {
    threads_.reserve(threads_.size() + 1);  // a thread must not be lost
    threads_.push_back(StartThread([this] { Work(); }));
  } catch (const std::system_error&) {
    // No more threads to be had: those there are will come to it.
  } catch (const std::bad_alloc&) {
    // Nor is there memory for one.
  }
}

void ThreadPool::Work() {
  Task task;
  while (Next(&task)) {
    task.run();
    task.run = nullptr;  // what it holds must not wait for the next one
  }
}

bool ThreadPool::Next(Task* task) {
  const Clock& clock = SystemClock();
  const int64_t until = clock.NowNanos() + kSpinNanos;
  bool slept = false;
  std::unique_lock lock(mutex_);
  ++idle_;
  while (tasks_.empty() && !stopping_) {
    if (clock.NowNanos() < until) {
      lock.unlock();
      for (int i = 0; i < 64 && queued_.load(std::memory_order_acquire) == 0; ++i) Relax();
      lock.lock();
    } else {
      slept = true;
      changed_.wait(lock);
    }
  }
  --idle_;
  if (stopping_) return false;
  *task = std::move(tasks_.front());
  tasks_.pop_front();
  queued_.store(static_cast<int>(tasks_.size()), std::memory_order_relaxed);
  if (slept) {
    const int64_t took = std::min(clock.NowNanos() - task->submitted, kLongestWake);
    const int64_t average = wake_nanos_.load(std::memory_order_relaxed);
    wake_nanos_.store(average + (took - average) / kAveraged, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace gyre
