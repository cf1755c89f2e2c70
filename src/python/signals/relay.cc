#include "python/signals/relay.h"

#include <signal.h>

#include <array>
#include <atomic>

#include "python/graph.h"
#include "python/python.h"

namespace gyre::python {
namespace {

struct RelayState {
  std::atomic<int> traces{0};
  std::atomic<int> relay{0};  // a signal's number; 0: none is free
  std::atomic<void (*)(int)> pythons{nullptr};
  std::array<std::atomic<bool>, NSIG> held = {};
  int waits = 0;  // how many reasons there are for handlers to wait; main thread only
};

RelayState& State() {
  static RelayState* const state = new RelayState;
  return *state;
}

// Python's handler of the relay. One signal at a time: what one handler raises ends this, and the
// rest is handled outside of the graph, too.
void HandleHeld() {
  RelayState& state = State();
  if (state.waits > 0) return;
  const CurrentGraphScope outside(nullptr);
  for (int number = 1; number < NSIG; ++number) {
    if (!state.held[number].exchange(false)) continue;
    state.pythons.load()(number);
    if (PyErr_CheckSignals() == 0) continue;
    state.pythons.load()(state.relay.load());
    throw nb::python_error();
  }
}

nb::handle Handler() {
  static const nb::handle handler =
      nb::cpp_function([](const nb::args&) { HandleHeld(); }).release();
  return handler;
}

bool IsFree(const nb::module_& signals, int number) {
  struct sigaction current;
  return sigaction(number, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) == 0 &&
         current.sa_handler == SIG_DFL &&
         nb::object(signals.attr("getsignal")(number)).is(nb::object(signals.attr("SIG_DFL")));
}

// Makes a free number the relay; 0 where there is none. Should it be sent by anybody, it does what
// it would have done.
int NewRelay(const nb::module_& signals) {
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    if (!IsFree(signals, number)) continue;
    signals.attr("signal")(number, Handler());
    signal(number, SIG_DFL);
    return number;
  }
  return 0;
}

}  // namespace

bool BeginRelay(void (*pythons)(int)) {
  RelayState& state = State();
  if (state.traces.load() == 0) {
    const nb::module_ signals = nb::module_::import_("_signal");
    const int relay = state.relay.load();
    if (relay == 0 || !nb::object(signals.attr("getsignal")(relay)).is(Handler()))
      state.relay = pythons == nullptr ? 0 : NewRelay(signals);
    state.pythons = pythons;
  }
  return state.traces.fetch_add(1) == 0;
}

void EndRelay() { State().traces.fetch_sub(1); }

void HoldHandlers(bool hold) {
  RelayState& state = State();
  state.waits += hold ? 1 : -1;
  if (state.waits == 0 && state.relay.load() != 0) state.pythons.load()(state.relay.load());
}

bool HoldSignal(int number) {
  RelayState& state = State();
  const int relay = state.relay.load();
  if (state.traces.load() == 0 || relay == 0) return false;
  state.held[number] = true;
  state.pythons.load()(relay);
  return true;
}

void ForgetHeldSignals() {
  for (std::atomic<bool>& held : State().held) held = false;
}

}  // namespace gyre::python
