#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/env.h"
#include "base/signals.h"

namespace gyre {
namespace {
// How long a thread looks out for a task before it sleeps: about what waking it would cost.
constexpr int64_t kSpinNanos = 20'000;
}  // namespace

int64_t WakeTime::nanos() const {
  const int64_t average = average_.load(std::memory_order_relaxed);
  if (average <= kTypical) return average;
  const int64_t age = clock_.NowNanos() - measured_at_.load(std::memory_order_relaxed);
  const int64_t halvings = std::clamp<int64_t>(age / kHalfLife, 0, 62);
  return kTypical + ((average - kTypical) >> halvings);
}

void WakeTime::Measured(int64_t nanos) {
  const int64_t old = this->nanos();
  average_.store(old + (std::min(nanos, kLongest) - old) / kAveraged, std::memory_order_relaxed);
  measured_at_.store(clock_.NowNanos(), std::memory_order_relaxed);
}

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
    const size_t threads = threads_.size();
    if (all_busy && static_cast<int>(threads) < max_threads) AddThread();
    // Where any number of threads may be, those there are may all wait for this task.
    const bool is_stuck =
        all_busy && threads_.size() == threads && max_threads == std::numeric_limits<int>::max();
    if (is_stuck || (threads_.empty() && max_threads > 0)) throw std::bad_alloc();
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
  if (slept) wake_.Measured(clock.NowNanos() - task->submitted);
  return true;
}

}  // namespace gyre
