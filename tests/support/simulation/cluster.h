// A cluster in a World: a client, workers, control links and channels, with a network that delays,
// damages and breaks, and machines that stop, crash and start again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/cluster.h"
#include "exec/engine.h"
#include "support/simulation/world.h"

namespace gyre::simulation {

// What goes wrong, once in the life of a cluster.
enum class Fault : uint8_t {
  kNone,
  kSlow,     // some messages take a second
  kPause,    // a worker stops for less than the failure time
  kStop,     // for longer
  kCrash,    // a worker is gone
  kRestart,  // and comes back, as another process
  kReset,    // a connection breaks
  kDamage,   // a byte of a channel is changed
};

class Network;

class SimulatedCluster {
 public:
  static constexpr int64_t kFailureNanos = 5'000'000'000;

  // The calling thread becomes the client's actor.
  SimulatedCluster(uint64_t seed, int num_workers, Fault fault);
  ~SimulatedCluster();

  // Another client calls the workers. UNAVAILABLE where the fault keeps one from answering.
  absl::StatusOr<std::shared_ptr<Engine>> Connect();
  // Of the client.
  void Sleep(int64_t nanos);
  World& world() { return world_; }

 private:
  World world_;
  Place client_;
  std::unique_ptr<Network> network_;
  uint64_t num_clients_ = 0;
};

}  // namespace gyre::simulation
