// Worker: runs, on its devices, its parts of the programs of any number of clients.
//
// Variables belong to the worker: they are there as long as it is, for all clients alike. Programs
// and steps belong to the client that sent them, and end with its link. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/control_link.h"
#include "cluster/host.h"
#include "cluster/mesh.h"
#include "ops/resource_store.h"

namespace gyre::cluster {

struct WorkerOptions {
  std::string token;  // which clients must know; never empty
  int num_devices = 1;
  int threads = 0;           // that work on one run at most; 0: one per core
  uint64_t incarnation = 0;  // no other process's, ever
  int64_t failure_nanos = 5'000'000'000;
  int most_callers = 128;                          // see Mesh::Options
  int64_t most_payload_bytes = kMostPayloadBytes;  // of a run's fetches
};

class Worker {
 public:
  // `host` must outlive it.
  Worker(Host& host, const WorkerOptions& options);
  // Cancels what runs, and waits for it.
  ~Worker();

  // A client has called.
  std::shared_ptr<LinkHandler> Accept(std::shared_ptr<ControlLink> link);

  // To be called several times a second: see Mesh::Tick.
  void Tick();

  // What waits for messages while no step does, and runs a step that comes then, until the worker
  // ends. To be called once at most, and its result run on a thread of its own. Without it, what
  // comes on channels waits for Tick.
  std::function<void()> StepListener();

  // Clients' calls that run or wait on threads of the host. For tests.
  int num_busy() const;

 private:
  class Client;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace gyre::cluster
