// `gyre worker`: runs the parts of clients' programs that are placed on it.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <ostream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/signals.h"
#include "base/status.h"
#include "cli/cluster/cluster_option.h"
#include "cli/command.h"
#include "cluster/serve.h"
#include "devices/device_set.h"

namespace gyre::cli {
namespace {

constexpr int64_t kMaxThreads = 1024;

constexpr Option kOptions[] = {
    {"--address", "HOST:PORT", "where clients reach it; default: 127.0.0.1:0, any free port"},
    {"--token-file", "FILE",
     "the token that clients must know; default: what GYRE_TOKEN\nholds, or one that is drawn and "
     "printed"},
    {"--devices", "cpu:N", "how many devices it has; default: cpu:1"},
    {"--threads", "N", "threads that work on a run; default: one per core"},
    {"--failure-timeout", "MS", "a worker that says nothing for so long is gone; default: 5000"},
    {"--with-parent", "", "end when the process that started it does"},
};

// How long a worker that is told to end may take.
constexpr int kGraceSeconds = 5;

// Sees to it that SIGINT and SIGTERM end the process, whatever it is doing: the first lets Await
// return, so that what runs may stop; kGraceSeconds later, or at the second, the process ends as it
// is. Nothing of it is left then: sockets and shared memory have no files.
class EndSignals {
 public:
  // To be made on the thread that calls Await, before there are threads that should not get these
  // signals.
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = StartThread([this] { Work(); });
  }
  ~EndSignals() {
    is_done_ = true;
    pthread_kill(thread_.native_handle(), SIGINT);
    thread_.join();
  }
  // The first thread of a process is the one that the system hands its signals to, if it waits for
  // them. Others may not have them blocked: those that Python had before.
  void Await() {
    int signal = 0;
    if (!has_come_) sigwait(&signals_, &signal);
    if (!has_come_.exchange(true)) pthread_kill(thread_.native_handle(), SIGINT);
  }

 private:
  void Work() {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (is_done_) return;
    if (!has_come_.exchange(true)) pthread_kill(awaits_, SIGINT);
    const timespec grace = {kGraceSeconds, 0};
    int again = 0;
    do {
      again = sigtimedwait(&signals_, nullptr, &grace);
    } while (again < 0 && errno == EINTR);
    if (is_done_) return;
    constexpr absl::string_view kLate =
        "gyre worker: what runs has not stopped 5 s after it was told to; the worker ends all the "
        "same\n";
    constexpr absl::string_view kTwice =
        "gyre worker: told to end twice; the worker does not wait for what runs\n";
    const absl::string_view text = again < 0 ? kLate : kTwice;
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(kFailure);
  }

  sigset_t signals_;
  const pthread_t awaits_ = pthread_self();
  std::atomic<bool> is_done_{false};  // the process ends by itself
  std::atomic<bool> has_come_{false};
  std::thread thread_;
};

absl::StatusOr<cluster::ServeOptions> ReadOptions(const Arguments& arguments) {
  cluster::ServeOptions options;
  options.address = arguments.Get("--address").value_or(options.address);
  GYRE_ASSIGN_OR_RETURN(options.token, ReadToken(arguments));
  options.token_is_given = !options.token.empty();
  if (options.token.empty()) options.token = cluster::DrawToken();
  GYRE_ASSIGN_OR_RETURN(const std::vector<DeviceName> devices,
                        ParseDeviceSet(arguments.Get("--devices").value_or("cpu:1")));
  for (const DeviceName& device : devices) {
    if (device.type != "CPU")
      return absl::InvalidArgumentError("a worker has devices of the type cpu alone: cpu:N");
  }
  options.num_devices = static_cast<int>(devices.size());
  GYRE_ASSIGN_OR_RETURN(const int64_t threads, arguments.Int("--threads", 1, kMaxThreads, 0));
  options.threads = static_cast<int>(threads);
  GYRE_ASSIGN_OR_RETURN(
      options.failure_timeout_ms,
      arguments.Int("--failure-timeout", 10, 3'600'000, options.failure_timeout_ms));
  return options;
}

int RunWorker(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kWorkerCommand, words, 0, 0);
  if (!arguments.ok()) return Misuse(kWorkerCommand, streams, arguments.status());
  absl::StatusOr<cluster::ServeOptions> options = ReadOptions(*arguments);
  if (!options.ok()) return Misuse(kWorkerCommand, streams, options.status());
  EndSignals end;
  options->log = [&streams](const std::string& line) {
    streams.err << absl::StrCat("gyre worker: ", line, "\n") << std::flush;
  };
  if (arguments->Has("--with-parent")) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // Ctrl-C at the terminal is for the parent, which still needs its workers to end its run.
    setpgid(0, 0);
  }
  const auto serving = ServeWorker(*options);
  if (!serving.ok()) return Failure(kWorkerCommand, streams, serving.status());
  streams.out << "worker at " << (*serving)->address();
  if (!options->token_is_given) streams.out << " token " << options->token;
  streams.out << std::endl;
  end.Await();
  return kSuccess;
}

}  // namespace

const Command kWorkerCommand = {
    "worker",
    "[OPTION...]",
    "Runs parts of the programs of clients, until it is told to stop.",
    kOptions,
    "Prints where it is, and runs until SIGINT or SIGTERM. A session reaches it with --cluster, "
    "from\n"
    "C++ with gyre::ConnectCluster, from Python with gyre.cluster. Who knows its token may run "
    "any\n"
    "program there, with the rights of who started it.\n",
    RunWorker,
};

}  // namespace gyre::cli
