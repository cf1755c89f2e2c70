// Cluster: the client's side of a set of workers, and an engine that runs programs on them.
//
// Each program goes to all workers, which cut it alike and keep their parts. A step is told to
// those that have one; then they need nobody: values travel between them, and the client hears of
// the end. The first error of a step cancels it everywhere. A worker whose link breaks, or that
// does not answer pings, is gone: steps that it takes part in end with UNAVAILABLE within the
// failure time, and so do all that are begun later, for its variables went with it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/control_link.h"
#include "cluster/host.h"
#include "exec/engine.h"

namespace gyre::cluster {

struct ClusterSettings {
  std::vector<std::string> addresses;  // see ClusterOptions::workers
  std::string token;
  Transport transport = Transport::kAuto;
  int64_t failure_nanos = 5'000'000'000;
  // When calling the workers is given up, as the host's clock has it.
  int64_t connect_deadline_nanos = Cancellation::kNoDeadline;
  int64_t spin_nanos = 0;
  std::string shared_state;
  uint64_t first_step = 0;  // drawn at random: no two clients count the same steps
  std::string secret;       // drawn at random
  int64_t most_payload_bytes = kMostPayloadBytes;  // of a program, and of a run's feeds
  // Of the client, drawn at random; 0: it opens no channels of its own, and its steps are told on
  // the control links like everything else.
  uint64_t incarnation = 0;
};

// Calls the workers, and makes them call each other. `host` must outlive the engine, whose
// devices() are /job:worker/replica:0/task:I/device:CPU:K for worker I's K-th, or those of the jobs
// and tasks that the addresses name. INVALID_ARGUMENT for addresses that are none; UNAVAILABLE,
// naming the worker, for one that does not answer within the failure time; UNAUTHENTICATED for
// another token; FAILED_PRECONDITION for another version.
absl::StatusOr<std::shared_ptr<Engine>> ConnectCluster(Host& host, const LinkDialer& dial,
                                                       const ClusterSettings& settings);

}  // namespace gyre::cluster
