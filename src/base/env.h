// The only door to clocks, sleeping and threads. Engines take a Clock, so tests can hand them one
// that they turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/internal_export.h"

namespace gyre {

// Monotonic time in nanoseconds. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNanos() const = 0;
};

// The machine's steady clock. Lives for ever.
GYRE_INTERNAL_EXPORT const Clock& SystemClock();

// How many threads the machine runs at once; at least 1.
GYRE_INTERNAL_EXPORT int NumProcessors();

// Calls body(0), …, body(n - 1), each on a thread of its own, and returns once all have. What the
// machine has no thread for, the caller's thread runs.
void RunOnThreads(int n, const std::function<void(int)>& body);

// Calls `tick` on a thread of its own, first after `first_nanos`, then every `period_nanos`, until
// it is destroyed; then no call is running any more. Does nothing where the machine has no thread
// left.
class GYRE_INTERNAL_EXPORT Ticker {
 public:
  Ticker(int64_t first_nanos, int64_t period_nanos, std::function<void()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gyre
