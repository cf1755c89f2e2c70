// Signals by the thousand while matrices are multiplied: handlers find a stack, products their
// memory.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "base/signals.h"
#include "base/thread_pool.h"
#include "exec/parallel_for.h"
#include "ops/math_values.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

// What handlers of this process write: lock-free, so that they may.
std::atomic<int> handled{0};
std::atomic<int> handled_elsewhere{0};  // on memory that is not the thread's stack
thread_local const char* stack_begin = nullptr;
thread_local const char* stack_end = nullptr;

void FindStack() {
  pthread_attr_t attr;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
  void* begin = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attr, &begin, &size);
  pthread_attr_destroy(&attr);
  stack_begin = static_cast<const char*>(begin);
  stack_end = stack_begin + size;
}

// A stack of its own for the handlers of this thread.
class AlternateStack {
 public:
  AlternateStack() : memory_(size_t{1} << 16) {
    const stack_t ours = {.ss_sp = memory_.data(), .ss_flags = 0, .ss_size = memory_.size()};
    sigaltstack(&ours, &before_);
  }
  ~AlternateStack() { sigaltstack(&before_, nullptr); }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  std::vector<char> memory_;
  stack_t before_;
};

class Handler {
 public:
  Handler(int number, int flags) : number_(number) {
    handled = 0;
    handled_elsewhere = 0;
    struct sigaction ours = {};
    ours.sa_flags = flags | SA_RESTART;
    ours.sa_handler = [](int) {
      const char here = 0;
      if (stack_begin != nullptr && (&here < stack_begin || &here >= stack_end))
        handled_elsewhere.fetch_add(1, std::memory_order_relaxed);
      handled.fetch_add(1, std::memory_order_release);
    };
    sigaction(number, &ours, &before_);
  }
  ~Handler() { sigaction(number_, &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  const int number_;
  struct sigaction before_;
};

Tensor Random(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(rows * columns);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
  return Tensor::FromValues<float>(values, ShapeOf({rows, columns}));
}

struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// Around the sizes at which the product is computed otherwise: by whom, in how many blocks, with
// packed factors or not.
std::vector<Product> Products() {
  std::vector<Product> all;
  for (const int64_t size : {65, 66, 80, 86, 96, 127, 128, 160, 256, 300, 512}) {
    for (int t = 0; t < 4; ++t) all.push_back({size, size, size, (t & 1) != 0, (t & 2) != 0});
  }
  for (int t = 0; t < 4; ++t) {
    all.push_back({16, 512, 512, (t & 1) != 0, (t & 2) != 0});
    all.push_back({1, 600, 700, (t & 1) != 0, (t & 2) != 0});
    all.push_back({700, 1, 600, (t & 1) != 0, (t & 2) != 0});
    all.push_back({300, 520, 16, (t & 1) != 0, (t & 2) != 0});
  }
  return all;
}

// Computes each product until `target` more handlers have run meanwhile, and compares all bits.
void MultiplyUnderSignals(int target) {
  ResourceRun run;
  PoolParallelFor parallel(ThreadPool::Shared(), 2);
  run.env().parallel = &parallel;
  for (const Product& p : Products()) {
    const Tensor a = p.transpose_a ? Random(p.k, p.m, 1) : Random(p.m, p.k, 1);
    const Tensor b = p.transpose_b ? Random(p.n, p.k, 2) : Random(p.k, p.n, 2);
    const AttrMap attrs = Attrs({{"transpose_a", p.transpose_a}, {"transpose_b", p.transpose_b}});
    const auto bits = [&] {
      const Tensor c = run.Run("MatMul", {a, b}, attrs);
      const auto* bytes = static_cast<const char*>(c.raw_data());
      return std::string(bytes, bytes + c.bytes());
    };
    std::string expected;
    {
      const NoSignals no_signals;
      expected = bits();
    }
    const int enough = handled.load(std::memory_order_acquire) + target;
    while (handled.load(std::memory_order_acquire) < enough) ASSERT_EQ(bits(), expected);
  }
}

// Sends this thread a signal every 200 µs until it is destroyed.
class Storm {
 public:
  explicit Storm(int number) {
    sigevent to = {};
    to.sigev_notify = SIGEV_THREAD_ID;
    to.sigev_signo = number;
    to._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &to, &timer_), 0);
    const itimerspec often = {{0, 200'000}, {0, 200'000}};
    EXPECT_EQ(timer_settime(timer_, 0, &often, nullptr), 0);
  }
  ~Storm() { timer_delete(timer_); }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

 private:
  timer_t timer_ = {};
};

constexpr int kSignalsPerProduct = 40;

void StormOnThisThread(int flags) {
  FindStack();
  const AlternateStack stack;
  const Handler handler(SIGUSR1, flags);
  const Storm storm(SIGUSR1);
  MultiplyUnderSignals(kSignalsPerProduct);
  const bool may_be_elsewhere = (flags & SA_ONSTACK) != 0;
  EXPECT_TRUE(may_be_elsewhere || handled_elsewhere == 0) << handled_elsewhere;
}

TEST(SignalStorm, HandlersOnTheStackOfTheMainThread) { StormOnThisThread(0); }

TEST(SignalStorm, HandlersOnAStackOfTheirOwn) { StormOnThisThread(SA_ONSTACK); }

TEST(SignalStorm, HandlersOnTheStackOfAnotherThread) {
  std::thread([] { StormOnThisThread(0); }).join();
}

TEST(SignalStorm, HandlersOnTheStackOfAThreadOfGyres) {
  // Signals to this very thread, of a kind that it takes.
  StartThread([] {
    FindStack();
    const Handler handler(SIGPROF, 0);
    const Storm storm(SIGPROF);
    MultiplyUnderSignals(kSignalsPerProduct);
    EXPECT_EQ(handled_elsewhere, 0);
  }).join();
}

TEST(SignalStorm, ATimerOfTheProcess) {
  FindStack();
  const Handler handler(SIGALRM, 0);
  const itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  MultiplyUnderSignals(kSignalsPerProduct);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  EXPECT_EQ(handled_elsewhere, 0);
}

}  // namespace
}  // namespace gyre::test
