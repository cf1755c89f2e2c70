#include "support/simulation/network.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gyre::simulation {
namespace {

constexpr int64_t kMicro = 1'000;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kFirstClient = 1'000'000;  // incarnations of clients
constexpr uint64_t kStepsOfAClient = 1'000'000;
constexpr size_t kRoom = size_t{1} << 15;
constexpr char kToken[] = "a token of the simulation";

absl::Status Broken() { return absl::UnavailableError("the connection was reset"); }

// The two pipes of a stream; index 0 leads from who dialled.
class StreamConnection final : public Connection,
                               public std::enable_shared_from_this<StreamConnection> {
 public:
  StreamConnection(Place& dialler, Place& other) {
    pipes[0].writer = pipes[1].reader = &dialler;
    pipes[0].reader = pipes[1].writer = &other;
  }
  void Break() override {
    for (const int end : {0, 1}) BreakEnd(end);
  }
  // What of it this end sees.
  void BreakEnd(int end) {
    is_broken[end] = true;
    ++pipes[end].writer->activity;
  }
  void BreakApart(World& world) override {
    const auto end = static_cast<int>(world.Draw(2));
    BreakEnd(end);
    world.After(static_cast<int64_t>(world.Draw(3 * kSecond)), *pipes[1 - end].writer,
                [self = shared_from_this(), end] { self->BreakEnd(1 - end); });
  }
  bool Touches(const Place& place) const override {
    return pipes[0].writer == &place || pipes[0].reader == &place;
  }
  Pipe pipes[2];
  bool is_broken[2] = {false, false};  // for who dialled, and for the other
};

class Stream final : public cluster::ByteStream {
 public:
  Stream(Network& network, std::shared_ptr<StreamConnection> connection, int end)
      : network_(network),
        connection_(std::move(connection)),
        end_(end),
        out_(connection_->pipes[end]),
        in_(connection_->pipes[1 - end]) {}
  ~Stream() override { HangUp(); }

  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override {
    if (is_broken()) return Broken();
    std::string bytes;
    for (const absl::string_view piece : pieces) absl::StrAppend(&bytes, piece);
    const size_t used = out_.arrived.size() + out_.underway;
    size_t n = std::min(bytes.size(), kRoom - std::min(kRoom, used));
    World& world = network_.world();
    if (n > 1 && world.Chance(0.1)) n = 1 + world.Draw(n);  // any part of it may be taken
    if (n == 0) return size_t{0};
    bytes.resize(n);
    if (network_.Damages()) bytes[world.Draw(n)] ^= static_cast<char>(1 + world.Draw(255));
    out_.underway += n;
    out_.sent.push_back(std::move(bytes));
    world.After(network_.Delay(), *out_.reader, [connection = connection_, &pipe = out_] {
      pipe.underway -= pipe.sent.front().size();
      pipe.arrived += pipe.sent.front();
      pipe.sent.pop_front();
      ++pipe.reader->activity;
    });
    return n;
  }

  absl::StatusOr<size_t> Read(absl::Span<char> into) override {
    size_t n = std::min(into.size(), in_.arrived.size());
    if (n == 0) return is_broken() ? absl::StatusOr<size_t>(Broken()) : size_t{0};
    if (n > 1 && network_.world().Chance(0.1)) n = 1 + network_.world().Draw(n);
    std::copy_n(in_.arrived.begin(), n, into.begin());
    in_.arrived.erase(0, n);
    ++in_.writer->activity;
    return n;
  }

  bool PrepareWait(bool for_write) override {
    const bool has_room = out_.arrived.size() + out_.underway < kRoom;
    return in_.arrived.empty() && !is_broken() && !(for_write && has_room);
  }
  void EndWait() override {}
  void LookAgain() override {}
  // The other end learns it later; never, if this one has learnt from the network that there is no
  // way any more.
  void HangUp() override {
    if (is_broken()) return;
    connection_->BreakEnd(end_);
    network_.world().After(network_.Delay(), *out_.reader, [connection = connection_, end = end_] {
      connection->BreakEnd(1 - end);
    });
  }
  int fd() const override { return -1; }
  bool WaitsForOutput() const override { return false; }
  bool NeedsChecksum() const override { return true; }
  std::string name() const override { return "a simulated stream"; }

 private:
  bool is_broken() const { return connection_->is_broken[end_]; }

  Network& network_;
  const std::shared_ptr<StreamConnection> connection_;
  const int end_;
  Pipe& out_;
  Pipe& in_;
};

// A control link: its two ends, and whom they hand messages to.
class LinkConnection final : public Connection,
                             public std::enable_shared_from_this<LinkConnection> {
 public:
  LinkConnection(Network& network, Place& client, Place& worker)
      : network_(network), places_{&client, &worker} {}

  void Send(int from, std::string message) {
    if (is_broken_) return;
    Later(1 - from, [this, to = 1 - from, message = std::move(message)] {
      if (handlers[to] != nullptr) handlers[to]->OnMessage(message);
    });
  }
  // What was sent before still arrives.
  void Close() {
    if (std::exchange(is_broken_, true)) return;
    for (const int end : {0, 1}) Later(end, [this, end] { TellClosed(end); });
  }
  void Break() override { Close(); }
  void Abandon(const Place& place) override {
    if (places_[1] == &place) TellClosed(1);
  }
  bool Touches(const Place& place) const override {
    return places_[0] == &place || places_[1] == &place;
  }
  std::shared_ptr<cluster::LinkHandler> handlers[2];  // of the client, and of the worker

 private:
  void Later(int end, std::function<void()> event) {
    events_[end].push_back(std::move(event));
    network_.world().After(network_.Delay(), *places_[end], [self = shared_from_this(), end] {
      const std::function<void()> first = std::move(self->events_[end].front());
      self->events_[end].pop_front();
      first();
      ++self->places_[end]->activity;
    });
  }
  void TellClosed(int end) {
    if (const auto handler = std::exchange(handlers[end], nullptr))
      handler->OnClosed(absl::UnavailableError("its link was closed"));
  }

  Network& network_;
  Place* const places_[2];
  std::deque<std::function<void()>> events_[2];
  bool is_broken_ = false;
};

class Link final : public cluster::ControlLink {
 public:
  Link(std::shared_ptr<LinkConnection> connection, int end)
      : connection_(std::move(connection)), end_(end) {}
  void Send(std::string message) override { connection_->Send(end_, std::move(message)); }
  void Close() override { connection_->Close(); }

 private:
  const std::shared_ptr<LinkConnection> connection_;
  const int end_;
};

}  // namespace

// ---- Host

const Clock& SimulatedHost::clock() const { return network_.world(); }

void SimulatedHost::Spawn(std::function<void()> task) {
  network_.world().Spawn(place_, std::move(task));
}

std::shared_ptr<void> SimulatedHost::Every(int64_t nanos, std::function<void()> tick) {
  auto alive = std::make_shared<bool>(true);
  World& world = network_.world();
  const auto again = std::make_shared<std::function<void()>>();
  *again = [this, &world, alive, nanos, tick = std::move(tick), weak = std::weak_ptr(again)] {
    if (!*alive) return;
    tick();
    ++place_.activity;
    if (const auto next = weak.lock()) world.After(nanos, place_, [next] { (*next)(); });
  };
  world.After(nanos, place_, [again] { (*again)(); });
  return std::shared_ptr<void>(alive.get(), [alive](void*) { *alive = false; });
}

absl::StatusOr<std::unique_ptr<cluster::ByteStream>> SimulatedHost::Dial(
    const cluster::ChannelAddress& address, Transport) {
  return network_.DialStream(*this, address.tcp);
}

std::unique_ptr<cluster::ByteStream> SimulatedHost::Accept() {
  std::unique_ptr<cluster::ByteStream> stream;
  if (!callers.empty()) {
    stream = std::move(callers.front());
    callers.pop_front();
  }
  return stream;
}

void SimulatedHost::Sleep(absl::Span<cluster::ByteStream* const> streams,
                          const std::vector<bool>& for_write, int64_t nanos) {
  const int64_t start = clock().NowNanos();
  while (!std::exchange(is_woken_, false) && callers.empty()) {
    for (size_t i = 0; i < streams.size(); ++i) {
      if (!streams[i]->PrepareWait(for_write[i])) return;
    }
    const int64_t gone = clock().NowNanos() - start;
    if (gone >= nanos) return;
    network_.world().Wait(place_.activity, nanos - gone);
  }
}

void SimulatedHost::WakeSleeper() {
  is_woken_ = true;
  ++place_.activity;
}

void SimulatedHost::Wait(std::unique_lock<std::mutex>& lock, std::condition_variable&,
                         int64_t nanos) {
  const uint64_t seen = place_.activity;
  lock.unlock();
  network_.world().Wait(seen, nanos);
  lock.lock();
}

// ---- Network

Network::Network(World& world, Place& client, int num_workers, Fault fault)
    : world_(world), client_(*this, client, "client"), fault_(fault) {
  for (int w = 0; w < num_workers; ++w) {
    places_.push_back(std::make_unique<Place>());
    processes_.emplace_back();
    Start(w);
  }
  if (fault_ > Fault::kSlow) Plan();
}

void Network::Close() {
  is_closing_ = true;
  for (auto& place : places_) place->frozen_until = 0;
  for (size_t w = 0; w < processes_.size(); ++w) {
    if (processes_[w] != nullptr) End(static_cast<int>(w));
  }
}

int64_t Network::Delay() {
  if (fault_ == Fault::kSlow && world_.Chance(0.01)) return kSecond;
  return static_cast<int64_t>(world_.Draw(world_.Chance(0.1) ? 5 * kMilli : 100 * kMicro));
}

bool Network::Damages() { return std::exchange(damages_next_, false); }

void Network::Start(int w) {
  auto process = std::make_unique<Process>();
  const uint64_t incarnation = next_incarnation_++;
  process->host = std::make_unique<SimulatedHost>(*this, *places_[w],
                                                  absl::StrCat("worker ", w, " of ", incarnation));
  cluster::WorkerOptions options;
  options.token = kToken;
  options.threads = 1;
  options.incarnation = incarnation;
  options.failure_nanos = SimulatedCluster::kFailureNanos;
  process->worker = std::make_unique<cluster::Worker>(*process->host, options);
  world_.Spawn(*places_[w], process->worker->StepListener());
  process->ticks =
      process->host->Every(200 * kMilli, [worker = process->worker.get()] { worker->Tick(); });
  processes_[w] = std::move(process);
}

// From one moment to the next nobody hears of it any more; its threads then find their way out.
void Network::Crash(int w) {
  if (processes_[w] == nullptr) return;
  processes_[w]->host->is_dead = true;
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (connection != nullptr && connection->Touches(*places_[w])) connection->Break();
  }
  ++places_[w]->activity;
  End(w);
}

// On a thread of its own: its destructor waits for what runs there.
void Network::End(int w) {
  std::shared_ptr<Process> process = std::move(processes_[w]);
  process->ticks.reset();
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock()) connection->Abandon(*places_[w]);
  }
  world_.Spawn(*places_[w], [process]() mutable {
    process->worker.reset();
    process = nullptr;
  });
}

// The fault happens some time within the first moments: while workers are called, programs
// compiled, or steps run.
void Network::Plan() {
  const auto at = static_cast<int64_t>(world_.Draw(120 * kMilli));
  world_.After(at, client_.place(), [this] {
    if (!is_closing_) Happen();
  });
}

void Network::Happen() {
  const auto w = static_cast<int>(world_.Draw(processes_.size()));
  switch (fault_) {
    case Fault::kPause:
      places_[w]->frozen_until = world_.NowNanos() + 2 * kSecond;
      return;
    case Fault::kStop:
      places_[w]->frozen_until = world_.NowNanos() + 30 * kSecond;
      return;
    case Fault::kCrash:
      return Crash(w);
    case Fault::kRestart:
      Crash(w);
      world_.After(static_cast<int64_t>(world_.Draw(kSecond)), client_.place(), [this, w] {
        if (!is_closing_) Start(w);
      });
      return;
    case Fault::kReset: {
      std::vector<std::shared_ptr<Connection>> alive;
      for (const auto& weak : connections_) {
        if (auto connection = weak.lock()) alive.push_back(std::move(connection));
      }
      if (alive.empty()) return;
      Connection& connection = *alive[world_.Draw(alive.size())];
      return world_.Chance(0.5) ? connection.Break() : connection.BreakApart(world_);
    }
    case Fault::kDamage:
      damages_next_ = true;
      return;
    case Fault::kNone:
    case Fault::kSlow:
      return;
  }
}

absl::StatusOr<std::shared_ptr<cluster::ControlLink>> Network::DialControl(
    const std::string& address, std::shared_ptr<cluster::LinkHandler> handler) {
  int w = 0;
  absl::string_view digits = address;
  if (!absl::ConsumePrefix(&digits, "simulated:") || !absl::SimpleAtoi(digits, &w))
    return absl::InvalidArgumentError("no address");
  auto connection = std::make_shared<LinkConnection>(*this, client_.place(), *places_[w]);
  connection->handlers[0] = std::move(handler);
  auto link = std::make_shared<Link>(connection, 0);
  if (processes_[w] == nullptr) {
    connection->Close();
  } else {
    Add(connection);
    connection->handlers[1] = processes_[w]->worker->Accept(std::make_shared<Link>(connection, 1));
  }
  return std::shared_ptr<cluster::ControlLink>(std::move(link));
}

absl::StatusOr<std::unique_ptr<cluster::ByteStream>> Network::DialStream(SimulatedHost& from,
                                                                         const std::string& name) {
  if (from.is_dead) return Broken();
  for (size_t w = 0; w < processes_.size(); ++w) {
    if (processes_[w] == nullptr || processes_[w]->host->name() != name) continue;
    auto connection = std::make_shared<StreamConnection>(from.place(), *places_[w]);
    Add(connection);
    world_.After(Delay(), *places_[w], [this, w, name, connection] {
      const bool is_there = processes_[w] != nullptr && processes_[w]->host->name() == name;
      if (!is_there) return connection->Break();
      processes_[w]->host->callers.push_back(std::make_unique<Stream>(*this, connection, 1));
      ++places_[w]->activity;
    });
    return std::make_unique<Stream>(*this, std::move(connection), 0);
  }
  return absl::UnavailableError("nobody listens there");
}

// ---- Cluster

SimulatedCluster::SimulatedCluster(uint64_t seed, int num_workers, Fault fault) : world_(seed) {
  world_.Enter(client_);
  network_ = std::make_unique<Network>(world_, client_, num_workers, fault);
}

SimulatedCluster::~SimulatedCluster() {
  network_->Close();
  world_.Leave();
  network_.reset();
}

void SimulatedCluster::Sleep(int64_t nanos) {
  for (const int64_t end = world_.NowNanos() + nanos; world_.NowNanos() < end;)
    world_.Wait(client_.activity, end - world_.NowNanos());
}

absl::StatusOr<std::shared_ptr<Engine>> SimulatedCluster::Connect() {
  cluster::ClusterSettings settings;
  settings.addresses.clear();
  for (int w = 0; w < static_cast<int>(network_->num_workers()); ++w)
    settings.addresses.push_back(absl::StrCat("simulated:", w));
  settings.token = kToken;
  settings.failure_nanos = kFailureNanos;
  settings.first_step = kStepsOfAClient * num_clients_ + 1;
  settings.secret = absl::StrCat("secret of client ", num_clients_);
  ++num_clients_;
  // Every fourth client has no channels of its own.
  if (world_.Draw(4) != 0) settings.incarnation = kFirstClient + num_clients_;
  return cluster::ConnectCluster(
      network_->client(),
      [network = network_.get()](const std::string& address,
                                 std::shared_ptr<cluster::LinkHandler> handler) {
        return network->DialControl(address, std::move(handler));
      },
      settings);
}

}  // namespace gyre::simulation
