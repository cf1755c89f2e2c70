#include "base/signals.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace gyre {
namespace {

// What the thread took that asked for this one; null on threads that are not Gyre's.
thread_local const sigset_t* callers_signals = nullptr;

const sigset_t& ForOtherThreads() {
  static const sigset_t set = [] {
    sigset_t all;
    sigfillset(&all);
    for (const int own :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF}) {
      sigdelset(&all, own);
    }
    return all;
  }();
  return set;
}

class Blocked {
 public:
  explicit Blocked(const sigset_t& set) { pthread_sigmask(SIG_BLOCK, &set, &before_); }
  ~Blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

}  // namespace

// The system call itself: pthread_sigmask leaves out the two signals by which the C library cancels
// threads and changes users.
NoSignals::NoSignals() {
  const uint64_t all = ~uint64_t{0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
}

NoSignals::~NoSignals() {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
}

std::thread StartThread(std::function<void()> body) {
  // A thread inherits what is blocked where it is started, so no signal can come first.
  const Blocked blocked(ForOtherThreads());
  const sigset_t callers = callers_signals != nullptr ? *callers_signals : blocked.before();
  return std::thread([callers, body = std::move(body)] {
    callers_signals = &callers;
    body();
    callers_signals = nullptr;
  });
}

CallersSignals::CallersSignals() {
  if (callers_signals != nullptr) pthread_sigmask(SIG_SETMASK, callers_signals, &before_);
}

CallersSignals::~CallersSignals() {
  if (callers_signals != nullptr) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace gyre
