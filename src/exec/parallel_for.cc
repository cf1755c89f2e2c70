#include "exec/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "base/env.h"

namespace gyre {
namespace {

// How long the caller looks out for the last pieces before it sleeps.
constexpr int64_t kSpinNanos = 20'000;

// One loop. Threads that come late find no piece left; the body is gone by then, so it is looked at
// only by who has taken a piece.
struct SharedLoop {
  int64_t n = 0;
  int64_t grain = 1;
  int64_t pieces = 0;
  const std::function<void(int64_t, int64_t)>* body = nullptr;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};  // release/acquire: what the pieces wrote comes with it
  std::mutex mutex;              // guards error; with changed, for the caller's sleep
  std::condition_variable changed;
  std::exception_ptr error;

  bool RunOne() {
    const int64_t piece = next.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces) return false;
    try {
      const int64_t begin = piece * grain;
      (*body)(begin, begin + std::min(grain, n - begin));
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces) {
      const std::lock_guard lock(mutex);
      changed.notify_all();
    }
    return true;
  }
};

}  // namespace

void PoolParallelFor::Run(int64_t n, int64_t grain,
                          const std::function<void(int64_t begin, int64_t end)>& body) {
  const Clock& clock = SystemClock();
  if (n <= 0) return;
  grain = std::clamp<int64_t>(grain, 1, n);
  const int64_t pieces = (n - 1) / grain + 1;
  auto loop = std::make_shared<SharedLoop>();
  loop->n = n;
  loop->grain = grain;
  loop->pieces = pieces;
  loop->body = &body;
  // The first piece tells whether the rest is worth waking a thread.
  const int64_t start = clock.NowNanos();
  loop->RunOne();
  const int64_t rest = (clock.NowNanos() - start) * (pieces - 1);
  const int64_t wake = pool_.wake_nanos();
  const int64_t helpers = std::min<int64_t>({pieces - 1, threads_ - 1, rest / (wake + 1)});
  try {
    for (int64_t i = 0; i < helpers; ++i) {
      pool_.Submit(
          [loop] {
            while (loop->RunOne()) {
            }
          },
          threads_ - 1);
    }
  } catch (const std::bad_alloc&) {
    // Those that have been asked use `body`: this thread does the rest, and waits for them.
  }
  while (loop->RunOne()) {
  }
  const int64_t spin_until = clock.NowNanos() + kSpinNanos;
  while (loop->done.load(std::memory_order_acquire) < pieces) {
    if (clock.NowNanos() < spin_until) {
      for (int i = 0; i < 64; ++i) Relax();
      continue;
    }
    std::unique_lock lock(loop->mutex);
    loop->changed.wait(lock, [&] { return loop->done.load(std::memory_order_acquire) >= pieces; });
  }
  const std::lock_guard lock(loop->mutex);
  if (loop->error != nullptr) std::rethrow_exception(loop->error);
}

}  // namespace gyre
