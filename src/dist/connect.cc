// gyre/session.h's ConnectCluster: a cluster of processes, whose control links are gRPC's.
#include "dist/connect.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"
#include "dist/cluster.h"
#include "dist/gate/knock.h"
#include "dist/grpc_library.h"
#include "dist/host.h"
#include "gyre/session.h"

namespace gyre {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int64_t kNanosPerMicro = 1'000;

uint64_t Random() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

absl::StatusOr<dist::Transport> ParseTransport(const std::string& name) {
  if (name == "auto") return dist::Transport::kAuto;
  if (name == "tcp") return dist::Transport::kTcp;
  if (name == "memory") return dist::Transport::kSharedMemory;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no transport \"", name, "\"; there is auto, tcp, memory"));
}

// An engine with the host that it stands on.
struct OwnedCluster {
  std::unique_ptr<dist::Host> host;
  std::shared_ptr<Engine> engine;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Engine>> ConnectCluster(const ClusterOptions& options) {
  return dist::ConnectWithin(0, options);
}

absl::StatusOr<std::shared_ptr<const Engine>> dist::ConnectWithin(int64_t timeout_ms,
                                                                  const ClusterOptions& options) {
  dist::ClusterSettings settings;
  settings.addresses = options.workers;
  settings.token = options.token;
  GYRE_ASSIGN_OR_RETURN(settings.transport, ParseTransport(options.transport));
  if (options.failure_timeout_ms < 10 || options.failure_timeout_ms > 3'600'000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a failure timeout is between 10 ms and an hour, not ", options.failure_timeout_ms, " ms"));
  }
  if (options.spin_us < 0 || options.spin_us > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("workers may spin for 0 to 1,000,000 µs, not ", options.spin_us));
  }
  settings.shared_state = options.shared_state;
  settings.failure_nanos = options.failure_timeout_ms * kNanosPerMs;
  settings.look_out_nanos = options.spin_us * kNanosPerMicro;
  settings.first_step = Random();
  settings.secret =
      absl::StrCat(absl::Hex(Random(), absl::kZeroPad16), absl::Hex(Random(), absl::kZeroPad16));
  GYRE_ASSIGN_OR_RETURN(const dist::GrpcLibrary* const grpc, dist::LoadGrpc());
  settings.incarnation = Random();
  const auto owned = std::make_shared<OwnedCluster>();
  GYRE_ASSIGN_OR_RETURN(owned->host, dist::MachineHost(""));
  const Clock& clock = SystemClock();
  if (timeout_ms > 0) settings.connect_deadline_nanos = clock.NowNanos() + timeout_ms * kNanosPerMs;
  const auto dial = [&](const std::string& address, std::shared_ptr<dist::LinkHandler> handler)
      -> absl::StatusOr<std::shared_ptr<dist::ControlLink>> {
    const int64_t left = settings.connect_deadline_nanos - clock.NowNanos();
    GYRE_ASSIGN_OR_RETURN(
        dist::Fd socket,
        dist::Knock(address, settings.token, std::clamp<int64_t>(left, 0, settings.failure_nanos)));
    return grpc->dial(socket.Release(), address, std::move(handler));
  };
  auto engine = dist::ConnectCluster(*owned->host, dial, settings);
  if (absl::IsUnavailable(engine.status()) && clock.NowNanos() >= settings.connect_deadline_nanos) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the workers were not reached within ", timeout_ms, " ms: ", engine.status().message()));
  }
  GYRE_ASSIGN_OR_RETURN(owned->engine, std::move(engine));
  return std::shared_ptr<const Engine>(owned, owned->engine.get());
}

}  // namespace gyre
