// `gyre worker`: runs the parts of clients' programs that are placed on it.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/cluster/cluster_option.h"
#include "cli/command.h"
#include "devices/device_set.h"
#include "dist/serve.h"

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

absl::StatusOr<dist::ServeOptions> ReadOptions(const Arguments& arguments) {
  dist::ServeOptions options;
  options.address = arguments.Get("--address").value_or(options.address);
  GYRE_ASSIGN_OR_RETURN(options.token, ReadToken(arguments));
  options.token_is_given = !options.token.empty();
  if (options.token.empty()) options.token = dist::DrawToken();
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
  const absl::StatusOr<dist::ServeOptions> options = ReadOptions(*arguments);
  if (!options.ok()) return Misuse(kWorkerCommand, streams, options.status());
  // Before there are threads: then none of them gets the signals that end it.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  if (arguments->Has("--with-parent")) prctl(PR_SET_PDEATHSIG, SIGTERM);
  const auto serving = dist::Serve(*options);
  if (!serving.ok()) return Failure(kWorkerCommand, streams, serving.status());
  streams.out << "worker at " << (*serving)->address();
  if (!options->token_is_given) streams.out << " token " << options->token;
  streams.out << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  return kSuccess;
}

}  // namespace

const Command kWorkerCommand = {
    "worker",
    "[OPTION...]",
    "run parts of the programs of clients, until it is told to stop",
    kOptions,
    "Prints where it is, and runs until SIGINT or SIGTERM. A session reaches it with --cluster, "
    "from\n"
    "C++ with gyre::ConnectCluster, from Python with gyre.cluster. Who knows its token may run "
    "any\n"
    "program there, with the rights of who started it.\n",
    RunWorker,
};

}  // namespace gyre::cli
