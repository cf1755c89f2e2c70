#include "python/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

#include "base/thread_pool.h"
#include "python/python.h"

namespace gyre::python {

// Only runs of the main thread are registered, so this is a stack: the innermost run and those
// around it.
struct InterruptState {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;  // of `innermost`, held for some nanoseconds
  Interruptible* innermost = nullptr;
  std::atomic<int> event{-1};  // eventfd: the handler writes, the watcher waits
  struct sigaction previous = {};
  bool has_watcher = false;          // main thread only
  std::atomic<int> generation{0};    // counts forks
  std::atomic<uint32_t> signals{0};  // how many have come
  uint32_t checked = 0;              // of these, what ThrowIfInterrupted has seen; main thread only

  void Lock() {
    while (lock.test_and_set(std::memory_order_acquire)) Relax();
  }
  void Unlock() { lock.clear(std::memory_order_release); }

  // Runs that have begun since the last signal go on: Python has acted on it before them.
  void CancelAll() {
    Lock();
    const uint32_t now = signals.load(std::memory_order_relaxed);
    for (Interruptible* run = innermost; run != nullptr; run = run->outer_) {
      if (run->signals_before_ != now)
        run->cancellation_.Cancel(absl::CancelledError("interrupted (Ctrl-C)"));
    }
    Unlock();
  }
};

namespace {

InterruptState& State() {
  static InterruptState* const state = new InterruptState;
  return *state;
}

void OnSignal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  InterruptState& state = State();
  if (state.previous.sa_flags & SA_SIGINFO) {
    state.previous.sa_sigaction(number, info, context);
  } else if (state.previous.sa_handler != SIG_DFL && state.previous.sa_handler != SIG_IGN) {
    state.previous.sa_handler(number);
  }
  state.signals.fetch_add(1, std::memory_order_relaxed);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(state.event.load(), &one, sizeof one);
  errno = saved;
}

void Watch(int event) {
  uint64_t count = 0;
  while (true) {
    const ssize_t n = read(event, &count, sizeof count);
    if (n == sizeof count) State().CancelAll();
    if (n < 0 && errno != EINTR) return;
  }
}

void StartWatcher(InterruptState& state) {
  const int event = eventfd(0, EFD_CLOEXEC);
  if (event < 0) return;
  state.event = event;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for other threads
  try {
    std::thread(&Watch, event).detach();
    state.has_watcher = true;
  } catch (const std::system_error&) {
    close(event);
    state.event = -1;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void AfterFork() {
  InterruptState& state = State();
  state.lock.clear();
  state.innermost = nullptr;
  state.has_watcher = false;  // it stayed with the parent, as did its end of the eventfd
  if (state.event >= 0) close(state.event);
  state.event = -1;
  state.generation.fetch_add(1, std::memory_order_relaxed);
}

// Puts the handler in front of Python's own, unless it is there: programs may replace it at any
// time.
void InstallHandler(InterruptState& state) {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  const bool is_ours = (current.sa_flags & SA_SIGINFO) && current.sa_sigaction == &OnSignal;
  const bool is_none = !(current.sa_flags & SA_SIGINFO) &&
                       (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN);
  if (is_none) return;
  if (!state.has_watcher) StartWatcher(state);
  if (!state.has_watcher || is_ours) return;
  state.previous = current;
  struct sigaction ours = current;
  ours.sa_flags = current.sa_flags | SA_SIGINFO;
  ours.sa_sigaction = &OnSignal;
  sigaction(SIGINT, &ours, nullptr);
}

bool IsMainThread(InterruptState& state) {
  static thread_local int generation = -1;
  static thread_local bool is_main = false;
  const int current = state.generation.load(std::memory_order_relaxed);
  if (generation != current) {
    if (generation == -1 && current == 0) {
      static const bool registered = pthread_atfork(nullptr, nullptr, &AfterFork) == 0;
      (void)registered;
    }
    generation = current;
    is_main = syscall(SYS_gettid) == getpid();
  }
  return is_main;
}

}  // namespace

Interruptible::Interruptible(Cancellation& cancellation) : cancellation_(cancellation) {
  InterruptState& state = State();
  if (!IsMainThread(state)) return;
  InstallHandler(state);
  is_registered_ = true;
  signals_before_ = state.signals.load(std::memory_order_relaxed);
  state.Lock();
  outer_ = state.innermost;
  state.innermost = this;
  state.Unlock();
  const uint32_t signals = state.signals.load(std::memory_order_relaxed);
  if (signals == state.checked) return;
  // The watcher may have looked before there was anything to cancel.
  state.checked = signals;
  if (PyErr_CheckSignals() == 0) return;
  Unregister();
  throw nb::python_error();
}

Interruptible::~Interruptible() {
  if (is_registered_) Unregister();
}

void Interruptible::Unregister() {
  InterruptState& state = State();
  state.Lock();
  state.innermost = outer_;
  state.Unlock();
}

void ThrowIfInterrupted() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace gyre::python
