#include "cli/ending_signals.h"

#include <signal.h>

#include "tensor/io/unfinished_files.h"

namespace gyre::cli {
namespace {

void RemoveAndEnd(int number) {
  RemoveUnfinishedFiles();
  signal(number, SIG_DFL);
  raise(number);  // ends the process when this returns, which has the signal blocked
}

void Replace(int number, void (*from)(int), void (*to)(int)) {
  struct sigaction there;
  if (sigaction(number, nullptr, &there) != 0 || (there.sa_flags & SA_SIGINFO) != 0 ||
      there.sa_handler != from)
    return;
  struct sigaction action = {};
  action.sa_handler = to;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

EndingSignals::EndingSignals() {
  for (const int number : kEndingSignals) Replace(number, SIG_DFL, RemoveAndEnd);
  Replace(SIGXFSZ, SIG_DFL, SIG_IGN);  // a file that gets too large fails to be written
}

EndingSignals::~EndingSignals() {
  for (const int number : kEndingSignals) Replace(number, RemoveAndEnd, SIG_DFL);
  Replace(SIGXFSZ, SIG_IGN, SIG_DFL);
}

}  // namespace gyre::cli
