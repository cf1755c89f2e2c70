#include "cluster/serve.h"

#include <sys/resource.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/signals.h"
#include "base/status.h"
#include "cluster/gate/gate.h"
#include "cluster/gate/knock.h"
#include "cluster/grpc_library.h"
#include "cluster/host.h"
#include "cluster/transport/socket.h"
#include "cluster/worker.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kTickNanos = 50'000'000;
constexpr size_t kLeastToken = 16;

// Of strangers at one entrance: the process has descriptors for more than them.
int MostCallers() {
  constexpr rlim_t kMost = 256;
  rlimit descriptors = {};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kMost;
  return static_cast<int>(std::clamp<rlim_t>(descriptors.rlim_cur / 8, 4, kMost));
}

uint64_t Random() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

class Process final : public Serving {
 public:
  Process(std::unique_ptr<Host> host, const WorkerOptions& options)
      : host_(std::move(host)), worker_(std::make_unique<Worker>(*host_, options)) {}
  ~Process() override {
    gate_.reset();
    server_.reset();
    ticks_.reset();
    worker_.reset();
    if (step_listener_.joinable()) step_listener_.join();
  }
  absl::Status Start(const GrpcLibrary& grpc, const HostPort& address, GateOptions gate) {
    step_listener_ = StartThread(worker_->StepListener());
    ticks_ = host_->Every(kTickNanos, [this] { worker_->Tick(); });
    GYRE_ASSIGN_OR_RETURN(server_, grpc.serve([this](std::shared_ptr<ControlLink> link) {
      return worker_->Accept(std::move(link));
    }));
    GYRE_ASSIGN_OR_RETURN(gate_, Gate::Open(address, std::move(gate), [this](Fd caller) {
                            server_->Take(caller.Release());
                          }));
    return absl::OkStatus();
  }
  std::string address() const override { return gate_->address().ToString(); }

 private:
  const std::unique_ptr<Host> host_;
  std::unique_ptr<Worker> worker_;
  std::thread step_listener_;
  std::shared_ptr<void> ticks_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<Gate> gate_;
};

absl::StatusOr<std::unique_ptr<Serving>> Serve(const ServeOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.address));
  GYRE_ASSIGN_OR_RETURN(const bool is_local, IsLoopback(address.host));
  if (!is_local && !options.token_is_given) {
    return absl::PermissionDeniedError(absl::StrCat(
        "a worker at ", options.address,
        " would be within reach of other machines: give it a token (--token-file), or an address "
        "of this machine, such as 127.0.0.1:0"));
  }
  if (options.token.size() < kLeastToken || options.token.size() > kMostTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token has ", kLeastToken, " to ", kMostTokenBytes, " characters"));
  }
  GYRE_ASSIGN_OR_RETURN(const GrpcLibrary* const grpc, LoadGrpc());
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<Host> host, MachineHost(address.host));
  WorkerOptions worker;
  worker.token = options.token;
  worker.num_devices = options.num_devices;
  worker.threads = options.threads;
  worker.incarnation = Random();
  worker.failure_nanos = options.failure_timeout_ms * 1'000'000;
  worker.most_callers = MostCallers();
  GateOptions gate;
  gate.token = options.token;
  gate.most_callers = worker.most_callers;
  gate.patience_nanos = worker.failure_nanos;
  gate.log = options.log;
  auto process = std::make_unique<Process>(std::move(host), worker);
  GYRE_RETURN_IF_ERROR(process->Start(*grpc, address, std::move(gate)));
  return process;
}

}  // namespace

std::string DrawToken() {
  return absl::StrCat(absl::Hex(Random(), absl::kZeroPad16), absl::Hex(Random(), absl::kZeroPad16));
}

}  // namespace gyre::cluster

namespace gyre {

absl::StatusOr<std::unique_ptr<cluster::Serving>> ServeWorker(
    const cluster::ServeOptions& options) {
  return cluster::Serve(options);
}

}  // namespace gyre
