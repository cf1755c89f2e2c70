// Attention: what the program around Gyre wants done on a thread of its own that a run keeps busy.
// Python's handlers of signals, say, which may run on its main thread alone.
//
// Engines attend between nodes and while they wait, where they hold no lock: what is done there may
// run other programs. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/internal_export.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT Attention {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // From now on, `handle` is what this thread does when it attends; null for nothing. Other threads
  // have nothing to do.
  static void HandleHere(void (*handle)());
  // Has whoever handles it called soon, and again until Withdraw. From handlers of signals, too.
  static void Ask() { asked_.store(true, std::memory_order_release); }
  // Before what is wanted is done: what is asked for meanwhile is not lost then.
  static void Withdraw() { asked_.store(false, std::memory_order_release); }

  static void Attend() {
    if (asked_.load(std::memory_order_relaxed)) [[unlikely]]
      HandleNow();
  }
  // For how long this thread may wait before it attends, in nanoseconds.
  static int64_t Patience();
  // Waits for is_over(), attending meanwhile.
  template <typename Predicate>
  static void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                   const Predicate& is_over) {
    const int64_t patience = Patience();
    if (patience == kUnlimited) return changed.wait(lock, is_over);
    while (!changed.wait_for(lock, std::chrono::nanoseconds(patience), is_over)) {
      lock.unlock();
      Attend();
      lock.lock();
    }
  }

 private:
  static void HandleNow();
  static std::atomic<bool> asked_;
};

}  // namespace gyre
