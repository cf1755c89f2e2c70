#include "python/signals/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>

#include "base/attention.h"
#include "base/signals.h"
#include "base/thread_pool.h"
#include "python/gil.h"
#include "python/python.h"
#include "python/signals/relay.h"

namespace gyre::python {
namespace {
// The watcher's looks at the run: how far apart, how many until it cancels what has not attended to
// Ctrl-C, and how many without a run until it sleeps.
constexpr int kLookMillis = 10;
constexpr int kLooksToAttend = 3;
constexpr int kLooksAwake = 100;
}  // namespace

// Only runs of the main thread are registered, so this is a stack: the innermost run and those
// around it.
struct InterruptState {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;  // of the next three, held for some nanoseconds
  Interruptible* innermost = nullptr;
  uint64_t runs = 0;  // how many have begun
  bool is_watcher_asleep = false;

  std::atomic_flag is_standing = ATOMIC_FLAG_INIT;   // held by who puts OnSignal before handlers
  std::atomic<int> event{-1};                        // eventfd that wakes the watcher
  std::array<struct sigaction, NSIG> previous = {};  // of each signal, what OnSignal stands before
  std::atomic<void (*)(int)> pythons{nullptr};       // what Python handles every signal by
  std::atomic<uint32_t> interrupts{0};               // how many SIGINT have come
  std::atomic<uint32_t> attended{0};                 // of these, how many Python has seen
  std::atomic<bool> is_ctrl_c{false};      // SIGINT makes KeyboardInterrupt, and nothing else
  std::atomic<int> generation{0};          // counts forks
  bool has_watcher = false;                // main thread only, as is what follows
  std::optional<nb::python_error> raised;  // by a handler, on its way to the caller

  void Lock() {
    while (lock.test_and_set(std::memory_order_acquire)) Relax();
  }
  void Unlock() { lock.clear(std::memory_order_release); }

  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event.load(), &one, sizeof one);
  }

  void CancelInnermost() const {
    innermost->cancellation_.Cancel(absl::CancelledError("interrupted by a signal"));
  }
  void CancelAll() {
    Lock();
    for (Interruptible* run = innermost; run != nullptr; run = run->outer_)
      run->cancellation_.Cancel(absl::CancelledError("interrupted (Ctrl-C)"));
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
  const struct sigaction& previous = state.previous[number];
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(number, info, context);
  } else if (previous.sa_handler == state.pythons.load() && HoldSignal(number)) {
    // Python hears of it where it has left the graph.
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  }
  if (number == SIGINT) state.interrupts.fetch_add(1, std::memory_order_relaxed);
  Attention::Ask();
  errno = saved;
}

// Has the handlers run that Python has noted signals for. On the main thread, within a run, without
// the GIL.
void AttendToSignals() {
  InterruptState& state = State();
  Attention::Withdraw();
  // Nobody would throw it; or the run ends already, and its caller looks again.
  if (state.innermost == nullptr || state.raised.has_value()) return;
  const GilHeld gil;
  state.attended = state.interrupts.load();
  if (PyErr_CheckSignals() == 0) return;
  state.raised.emplace();
  state.CancelInnermost();
}

// Puts OnSignal in front of a handler, unless it is there: of Python's for all signals, of
// anybody's for SIGINT. True if it was not there. Programs may replace handlers at any time.
bool StandBefore(InterruptState& state, int number) {
  struct sigaction current;
  if (sigaction(number, nullptr, &current) != 0) return false;
  if (current.sa_flags & SA_SIGINFO) {
    if (current.sa_sigaction == &OnSignal || number != SIGINT) return false;
  } else if (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN ||
             (number != SIGINT && current.sa_handler != state.pythons.load())) {
    return false;
  }
  state.previous[number] = current;
  struct sigaction ours = current;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = &OnSignal;
  return sigaction(number, &ours, nullptr) == 0;
}

bool StandBeforeAll(InterruptState& state) {
  while (state.is_standing.test_and_set(std::memory_order_acquire)) Relax();
  bool is_new = false;
  for (int number = 1; number < NSIG; ++number) is_new = StandBefore(state, number) || is_new;
  state.is_standing.clear(std::memory_order_release);
  return is_new;
}

// Looks at the runs of the main thread now and then. One that lasts gets OnSignal in front of what
// handlers there are; short ones are over before a handler could be late.
class Watcher {
 public:
  Watcher(InterruptState& state, int event) : state_(state), event_(event) {}

  void Watch() {
    while (Wait()) Look();
  }

 private:
  bool Wait() {
    pollfd events = {.fd = event_, .events = POLLIN, .revents = 0};
    const int ready = poll(&events, 1, is_asleep_ ? -1 : kLookMillis);
    if (ready < 0) return errno == EINTR;
    uint64_t count = 0;
    return ready == 0 || read(event_, &count, sizeof count) == sizeof count;
  }

  void Look() {
    state_.Lock();
    const bool is_idle = state_.innermost == nullptr && state_.runs == last_run_;
    const bool lasts = state_.innermost != nullptr && state_.runs == last_run_;
    idle_looks_ = is_idle ? idle_looks_ + 1 : 0;
    last_run_ = state_.runs;
    is_asleep_ = state_.is_watcher_asleep = idle_looks_ >= kLooksAwake;
    state_.Unlock();
    // What came before it stood there may be waiting.
    if (lasts && StandBeforeAll(state_)) Attention::Ask();
    const bool is_attended = state_.interrupts.load() == state_.attended.load();
    looks_to_attend_ = lasts && !is_attended && state_.is_ctrl_c.load() ? looks_to_attend_ + 1 : 0;
    if (looks_to_attend_ == kLooksToAttend) state_.CancelAll();
  }

  InterruptState& state_;
  const int event_;
  uint64_t last_run_ = 0;
  int idle_looks_ = 0;
  int looks_to_attend_ = 0;
  bool is_asleep_ = false;
};

void StartWatcher(InterruptState& state) {
  const int event = eventfd(0, EFD_CLOEXEC);
  if (event < 0) return;
  state.event = event;
  state.is_watcher_asleep = false;
  try {
    StartThread([&state, event] { Watcher(state, event).Watch(); }).detach();
    state.has_watcher = true;
  } catch (const std::system_error&) {
    close(event);
    state.event = -1;
  }
}

void AfterFork() {
  InterruptState& state = State();
  state.lock.clear();
  state.is_standing.clear();
  ForgetHeldSignals();
  state.innermost = nullptr;
  state.has_watcher = false;  // it stayed with the parent, as did its end of the eventfd
  if (state.event >= 0) close(state.event);
  state.event = -1;
  state.generation.fetch_add(1, std::memory_order_relaxed);
}

// The one function by which Python handles signals, read off one that it handles; of SIGURG, which
// nobody sends and which does nothing, where it handles none yet.
void (*PythonsHandler())(int) {
  const nb::module_ signals = nb::module_::import_("_signal");
  const auto handler_of = [](int number) {
    struct sigaction current;
    if (sigaction(number, nullptr, &current) != 0 || (current.sa_flags & SA_SIGINFO) ||
        current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN) {
      return static_cast<void (*)(int)>(nullptr);
    }
    return current.sa_handler;
  };
  for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGURG}) {
    if (PyCallable_Check(nb::object(signals.attr("getsignal")(number)).ptr()) == 0) continue;
    if (const auto handler = handler_of(number)) return handler;
  }
  struct sigaction before;
  if (sigaction(SIGURG, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return nullptr;
  signals.attr("signal")(static_cast<int>(SIGURG), signals.attr("default_int_handler"));
  const auto handler = handler_of(SIGURG);
  signals.attr("signal")(static_cast<int>(SIGURG), signals.attr("SIG_DFL"));
  return handler;
}

// Whether Python's own handler of SIGINT is set, which always raises.
bool IsCtrlC() {
  static const nb::handle getsignal =
      nb::object(nb::module_::import_("_signal").attr("getsignal")).release();
  static const nb::handle default_handler =
      nb::object(nb::module_::import_("_signal").attr("default_int_handler")).release();
  static const nb::handle number = nb::int_(SIGINT).release();
  return nb::steal(PyObject_CallFunctionObjArgs(getsignal.ptr(), number.ptr(), nullptr))
      .is(default_handler);
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
    if (is_main) {
      if (state.pythons.load() == nullptr) state.pythons = PythonsHandler();
      Attention::HandleHere(&AttendToSignals);
    }
  }
  return is_main;
}

}  // namespace

Interruptible::Interruptible(Cancellation& cancellation) : cancellation_(cancellation) {
  InterruptState& state = State();
  if (!IsMainThread(state)) return;
  if (!state.has_watcher) StartWatcher(state);
  state.is_ctrl_c.store(IsCtrlC(), std::memory_order_relaxed);
  is_registered_ = true;
  state.Lock();
  outer_ = state.innermost;
  state.innermost = this;
  ++state.runs;
  const bool is_asleep = state.is_watcher_asleep;
  state.Unlock();
  if (is_asleep) state.Wake();
  const uint32_t interrupts = state.interrupts.load(std::memory_order_relaxed);
  if (interrupts == state.attended.load(std::memory_order_relaxed)) return;
  state.attended = interrupts;
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

void BeginTrace() {
  InterruptState& state = State();
  if (!IsMainThread(state)) return;
  if (!BeginRelay(state.pythons.load())) return;
  StandBeforeAll(state);
  if (PyErr_CheckSignals() == 0) return;  // of signals that Python knows of already
  EndRelay();
  throw nb::python_error();
}

void EndTrace() {
  if (IsMainThread(State())) EndRelay();
}

void BeginHolding() {
  BeginTrace();
  if (IsMainThread(State())) HoldHandlers(true);
}

void EndHolding() {
  if (IsMainThread(State())) HoldHandlers(false);
  EndTrace();
}

void ThrowIfInterrupted() {
  InterruptState& state = State();
  if (IsMainThread(state) && state.raised.has_value()) {
    nb::python_error error = *std::move(state.raised);
    state.raised.reset();
    throw nb::python_error(std::move(error));
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace gyre::python
