// The simulated network of a SimulatedCluster. Guarded by having the baton.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/control_link.h"
#include "cluster/host.h"
#include "cluster/worker.h"
#include "support/simulation/cluster.h"
#include "support/simulation/world.h"

namespace gyre::simulation {

class Network;

// One direction of a connection.
struct Pipe {
  Place* reader = nullptr;
  Place* writer = nullptr;
  std::deque<std::string> sent;  // what is under way: nothing overtakes on one connection
  std::string arrived;
  size_t underway = 0;  // bytes
};

// What can break. Both ends keep it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Break() = 0;
  // One end notices first.
  virtual void BreakApart(World&) { Break(); }
  virtual bool Touches(const Place& place) const = 0;
  // The process at `place` ends: nothing more reaches it.
  virtual void Abandon(const Place&) {}
};

// A machine of the cluster, and the process on it.
class SimulatedHost final : public cluster::Host {
 public:
  SimulatedHost(Network& network, Place& place, std::string name)
      : network_(network), place_(place), name_(std::move(name)) {}

  const Clock& clock() const override;
  void Spawn(std::function<void()> task) override;
  std::shared_ptr<void> Every(int64_t nanos, std::function<void()> tick) override;
  cluster::ChannelAddress channel_address() const override { return {name_, "", ""}; }
  absl::StatusOr<std::unique_ptr<cluster::ByteStream>> Dial(const cluster::ChannelAddress& address,
                                                            Transport transport) override;
  std::unique_ptr<cluster::ByteStream> Accept() override;
  void Sleep(absl::Span<cluster::ByteStream* const> streams, const std::vector<bool>& for_write,
             int64_t nanos) override;
  void WakeSleeper() override;
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            int64_t nanos) override;

  Place& place() { return place_; }
  const std::string& name() const { return name_; }
  bool is_dead = false;  // the process, though its threads are still on their way out
  std::deque<std::unique_ptr<cluster::ByteStream>> callers;

 private:
  Network& network_;
  Place& place_;
  const std::string name_;
  bool is_woken_ = false;
};

// A process of a worker.
struct Process {
  std::unique_ptr<SimulatedHost> host;
  std::unique_ptr<cluster::Worker> worker;
  std::shared_ptr<void> ticks;
};

class Network {
 public:
  Network(World& world, Place& client, int num_workers, Fault fault);
  // Ends all processes. What is under way still refers to it.
  void Close();

  World& world() { return world_; }
  SimulatedHost& client() { return client_; }
  size_t num_workers() const { return processes_.size(); }
  absl::StatusOr<std::shared_ptr<cluster::ControlLink>> DialControl(
      const std::string& address, std::shared_ptr<cluster::LinkHandler> handler);
  absl::StatusOr<std::unique_ptr<cluster::ByteStream>> DialStream(SimulatedHost& from,
                                                                  const std::string& name);
  // When something that is sent now arrives.
  int64_t Delay();
  // Whether the byte that is sent now arrives as another.
  bool Damages();
  void Add(const std::shared_ptr<Connection>& connection) { connections_.push_back(connection); }

 private:
  void Start(int worker);
  void Crash(int worker);
  void End(int worker);
  void Plan();
  void Happen();

  World& world_;
  SimulatedHost client_;
  const Fault fault_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::unique_ptr<Process>> processes_;  // by worker; null: none runs
  std::vector<std::weak_ptr<Connection>> connections_;
  uint64_t next_incarnation_ = 1;
  bool damages_next_ = false;
  bool is_closing_ = false;
};

}  // namespace gyre::simulation
