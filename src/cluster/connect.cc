// gyre/core/session.h's ConnectCluster: a cluster of processes, whose control links are gRPC's.
#include "cluster/connect.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"
#include "cluster/cluster.h"
#include "cluster/gate/knock.h"
#include "cluster/grpc_library.h"
#include "cluster/host.h"
#include "gyre/core/session.h"

namespace gyre {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int64_t kNanosPerMicro = 1'000;

uint64_t Random() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// An engine with the host that it stands on.
struct OwnedCluster {
  std::unique_ptr<cluster::Host> host;
  std::shared_ptr<Engine> engine;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Engine>> ConnectCluster(const ClusterOptions& options) {
  return cluster::ConnectWithin(0, options);
}

absl::StatusOr<std::shared_ptr<const Engine>> cluster::ConnectWithin(
    int64_t timeout_ms, const ClusterOptions& options) {
  cluster::ClusterSettings settings;
  settings.addresses = options.workers;
  settings.token = options.token;
  settings.transport = options.transport;
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
  settings.spin_nanos = options.spin_us * kNanosPerMicro;
  settings.first_step = Random();
  settings.secret =
      absl::StrCat(absl::Hex(Random(), absl::kZeroPad16), absl::Hex(Random(), absl::kZeroPad16));
  GYRE_ASSIGN_OR_RETURN(const cluster::GrpcLibrary* const grpc, cluster::LoadGrpc());
  settings.incarnation = Random();
  const auto owned = std::make_shared<OwnedCluster>();
  GYRE_ASSIGN_OR_RETURN(owned->host, cluster::MachineHost(""));
  const Clock& clock = SystemClock();
  if (timeout_ms > 0) settings.connect_deadline_nanos = clock.NowNanos() + timeout_ms * kNanosPerMs;
  const auto dial = [&](const std::string& address, std::shared_ptr<cluster::LinkHandler> handler)
      -> absl::StatusOr<std::shared_ptr<cluster::ControlLink>> {
    const int64_t left = settings.connect_deadline_nanos - clock.NowNanos();
    GYRE_ASSIGN_OR_RETURN(cluster::Fd socket,
                          cluster::Knock(address, settings.token,
                                         std::clamp<int64_t>(left, 0, settings.failure_nanos)));
    return grpc->dial(socket.Release(), address, std::move(handler));
  };
  auto engine = cluster::ConnectCluster(*owned->host, dial, settings);
  if (absl::IsUnavailable(engine.status()) && clock.NowNanos() >= settings.connect_deadline_nanos) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the workers were not reached within ", timeout_ms, " ms: ", engine.status().message()));
  }
  GYRE_ASSIGN_OR_RETURN(owned->engine, std::move(engine));
  return std::shared_ptr<const Engine>(owned, owned->engine.get());
}

}  // namespace gyre
