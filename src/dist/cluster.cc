#include "dist/cluster.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/cancellation.h"
#include "base/status.h"
#include "dist/mesh.h"
#include "dist/messages.h"
#include "dist/step_failure.h"
#include "dist/watch/clock_offset.h"
#include "dist/watch/watched_run.h"
#include "graphdef/export.h"
#include "passes/staged.h"
#include "place/state_homes.h"

namespace gyre::dist {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
// How often who calls the workers looks whether they have answered.
constexpr int64_t kCallLookNanos = 20 * kNanosPerMs;
// A client's channels are looked after at least so often, whatever the failure time.
constexpr int64_t kMostTickNanos = 500 * kNanosPerMs;
constexpr int kMostDevices = 1024;  // of a worker, as ParseDeviceSet
// Round trips beside the first, when a run is watched: the shortest tells most of a worker's clock.
constexpr int kMorePings = 3;

// One worker, as the client sees it. Guarded by the cluster's mutex.
struct Member {
  std::string name;
  std::shared_ptr<ControlLink> link;
  std::optional<proto::HelloReply> hello;
  std::optional<absl::Status> joined;
  absl::Status gone;  // why, once it is
  int64_t heard_nanos = 0;
  uint64_t ping = 0;  // the last one, and when it was sent
  int64_t ping_nanos = 0;
  int more_pings = 0;  // to be sent, each upon the answer to the one before
  ClockOffset clock;
};

// A program that is being compiled.
struct Compiling {
  std::vector<std::optional<proto::Compiled>> replies;
};

// A worker's part of a step.
struct Part {
  bool takes_part = false;
  bool is_done = false;
  PeerPtr via;  // whose channel its run went by; null: the control link
  absl::Status status;
  proto::Done result;
  int64_t printed = 0;  // messages that have come
  // Nothing more is to come of it.
  bool HasEnded() const {
    return !takes_part || (is_done && (!status.ok() || printed >= result.printed()));
  }
};

// A step under way.
struct Underway {
  std::vector<Part> parts;             // by member
  std::deque<proto::Printed> printed;  // for the thread that runs the step
  absl::Status first;                  // the first error, which cancelled the rest
  WatchedRun* watched = nullptr;       // null: nobody watches
  int telling = 0;                     // calls of `watched` that have not returned
  bool HasEnded() const {
    return absl::c_all_of(parts, [](const Part& part) { return part.HasEnded(); });
  }
};

// Where a worker is, and what its devices are called.
struct Place {
  std::string name;     // for people
  DeviceName device;    // of all its devices: job, replica, task
  std::string address;  // "host:port"
};

// "host:port", the `index`th of them, or "/job:ps/task:0=host:port".
absl::StatusOr<Place> ParsePlace(const std::string& text, int index) {
  if (!absl::StartsWith(text, "/")) {
    return Place{absl::StrCat("worker ", index, " (", text, ")"),
                 {.job = "worker", .replica = 0, .task = index},
                 text};
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  GYRE_ASSIGN_OR_RETURN(DeviceName device, DeviceName::Parse(parts.first));
  if (!device.job || !device.task || device.type || device.id || parts.second.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no worker: give HOST:PORT, or /job:NAME/task:N=HOST:PORT"));
  }
  device.replica = device.replica.value_or(0);
  return Place{absl::StrCat(parts.first, " (", parts.second, ")"), device, parts.second};
}

absl::StatusOr<std::vector<Place>> ParsePlaces(const std::vector<std::string>& addresses) {
  if (addresses.empty()) return absl::InvalidArgumentError("a cluster needs a worker");
  std::vector<Place> places;
  for (const std::string& address : addresses) {
    GYRE_ASSIGN_OR_RETURN(Place place, ParsePlace(address, static_cast<int>(places.size())));
    for (const Place& other : places) {
      if (place.device == other.device) {
        return absl::InvalidArgumentError(absl::StrCat("two workers are ", place.device.ToString(),
                                                       ": ", other.name, " and ", place.name));
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

struct State : std::enable_shared_from_this<State> {
  State(Host& h, const ClusterSettings& s)
      : host(h),
        settings(s),
        mesh(h, {.incarnation = s.incarnation, .failure_nanos = s.failure_nanos},
             {.on_lost = [this](const Peer& peer,
                                const absl::Status& why) { OnChannelLost(peer, why); },
              .on_message =
                  [this](const Peer& peer, absl::string_view bytes) {
                    const int m = MemberOf(peer);
                    if (m >= 0) OnMessage(m, bytes);
                  }}),
        next_step(s.first_step) {}

  void OnMessage(int member, absl::string_view bytes);
  void OnClosed(int member, const absl::Status& why) { Lose(member, why); }
  void Lose(int member, const absl::Status& why);
  void OnChannelLost(const Peer& peer, const absl::Status& why);
  int MemberOf(const Peer& peer);
  void Tick();
  absl::Status Connect(const LinkDialer& dial);
  // Waits until `is_so`, a worker is gone, or the failure time has passed. Requirement: lock is
  // held.
  template <typename F>
  absl::Status WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what, F is_so);
  absl::Status AnyGone() const;
  void Fail(uint64_t step, Underway& underway, const absl::Status& why);
  // A part's message, by the way its run has gone. Requirement: mutex is held.
  void Tell(int member, const Part& part, std::string message);
  // Calls `tell`, which may call the user, for a step under way that is watched. Without the mutex:
  // it may cancel the run, or wait for who does.
  template <typename F>
  void TellWatched(uint64_t step, F tell);
  void TellFirings(int member, const proto::Fired& fired);
  // Requirement: mutex is held.
  void Ping(int member);
  void CallWorkers(std::unique_lock<std::mutex>& lock);
  // Who waits looks again.
  void Stir() {
    changed.notify_all();
    mesh.Wake();
  }
  void SendTo(int member, const proto::ToWorker& message) {
    members[member].link->Send(message.SerializeAsString());
  }

  Host& host;
  const ClusterSettings settings;
  std::vector<DeviceName> devices;
  std::vector<int> member_of_device;
  std::shared_ptr<void> ticker;
  // Channels of the client's own: the short way to start a step and to hear of its end. Who waits
  // for a step polls them. Never called with `mutex` held, but for Find and Tell.
  Mesh mesh;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<Member> members;
  uint64_t next_program = 1;
  uint64_t next_step;
  uint64_t next_ping = 1;
  absl::flat_hash_map<uint64_t, Compiling> compiling;
  std::map<uint64_t, Underway*> steps;
};

class Handler final : public LinkHandler {
 public:
  Handler(std::weak_ptr<State> state, int member) : state_(std::move(state)), member_(member) {}
  void OnMessage(absl::string_view message) override {
    if (const auto state = state_.lock()) state->OnMessage(member_, message);
  }
  void OnClosed(const absl::Status& why) override {
    if (const auto state = state_.lock()) state->OnClosed(member_, why);
  }

 private:
  const std::weak_ptr<State> state_;
  const int member_;
};

void State::OnMessage(int m, absl::string_view bytes) {
  proto::FromWorker message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Lose(m, absl::DataLossError("it sent what is no message"));
  }
  if (message.what_case() == proto::FromWorker::kFired) TellFirings(m, message.fired());
  if (message.what_case() == proto::FromWorker::kProgress) {
    TellWatched(message.progress().step(),
                [&](Underway& step) { step.watched->OnProgress(m, message.progress()); });
  }
  {
    const std::lock_guard lock(mutex);
    Member& member = members[m];
    member.heard_nanos = host.clock().NowNanos();
    switch (message.what_case()) {
      case proto::FromWorker::kHello:
        member.hello = message.hello();
        break;
      case proto::FromWorker::kJoined:
        member.joined = FromProto(message.joined().status());
        break;
      case proto::FromWorker::kCompiled: {
        const auto it = compiling.find(message.compiled().program());
        if (it != compiling.end()) it->second.replies[m] = message.compiled();
        break;
      }
      case proto::FromWorker::kDone: {
        const auto it = steps.find(message.done().step());
        if (it == steps.end()) return;
        Part& part = it->second->parts[m];
        if (!part.takes_part || part.is_done) return;
        part.is_done = true;
        part.status = FromProto(message.done().status());
        part.result = std::move(*message.mutable_done());
        if (!part.status.ok()) Fail(it->first, *it->second, part.status);
        break;
      }
      case proto::FromWorker::kPrinted: {
        const auto it = steps.find(message.printed().step());
        if (it == steps.end()) return;
        Underway& step = *it->second;
        ++step.parts[m].printed;
        step.printed.push_back(std::move(*message.mutable_printed()));
        break;
      }
      case proto::FromWorker::kPong:
        if (message.pong().number() != member.ping) return;
        member.clock.Add(member.ping_nanos, message.pong().nanos(), member.heard_nanos);
        if (member.more_pings > 0) {
          --member.more_pings;
          Ping(m);
        }
        return;
      case proto::FromWorker::kFired:
      case proto::FromWorker::kProgress:
      case proto::FromWorker::WHAT_NOT_SET:
        return;
    }
  }
  Stir();
}

template <typename F>
void State::TellWatched(uint64_t id, F tell) {
  Underway* step = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto it = steps.find(id);
    if (it == steps.end() || it->second->watched == nullptr) return;
    step = it->second;
    ++step->telling;
  }
  tell(*step);
  {
    const std::lock_guard lock(mutex);
    --step->telling;
  }
  Stir();
}

void State::TellFirings(int m, const proto::Fired& fired) {
  TellWatched(fired.step(), [&](Underway& step) {
    int64_t offset = 0;
    {
      const std::lock_guard lock(mutex);
      offset = members[m].clock.nanos();
    }
    const absl::Status status = step.watched->OnFired(m, fired, offset, host.clock().NowNanos());
    const std::lock_guard lock(mutex);
    if (!status.ok()) Fail(fired.step(), step, status);
    proto::ToWorker seen;
    seen.mutable_seen()->set_step(fired.step());
    SendTo(m, seen);
  });
}

void State::Ping(int m) {
  Member& member = members[m];
  member.ping = next_ping++;
  member.ping_nanos = host.clock().NowNanos();
  proto::ToWorker message;
  message.mutable_ping()->set_number(member.ping);
  SendTo(m, message);
}

// Tells everybody else to stop. Requirement: mutex is held; who calls it stirs.
void State::Fail(uint64_t id, Underway& step, const absl::Status& why) {
  if (!step.first.ok()) return;
  step.first = why;
  proto::ToWorker message;
  message.mutable_cancel()->set_step(id);
  ToProto(why, message.mutable_cancel()->mutable_status());
  for (size_t m = 0; m < members.size(); ++m) {
    const Part& part = step.parts[m];
    if (part.takes_part && !part.is_done)
      Tell(static_cast<int>(m), part, message.SerializeAsString());
  }
}

void State::Tell(int m, const Part& part, std::string message) {
  if (part.via != nullptr && message.size() <= Channel::kMaxEagerBytes) {
    mesh.Tell(*part.via, std::move(message));
  } else {
    members[m].link->Send(std::move(message));
  }
}

void State::Lose(int m, const absl::Status& why) {
  std::shared_ptr<ControlLink> link;
  {
    const std::lock_guard lock(mutex);
    Member& member = members[m];
    if (!member.gone.ok()) return;
    const bool is_refusal = absl::IsUnauthenticated(why) || absl::IsFailedPrecondition(why);
    member.gone = absl::Status(is_refusal ? why.code() : absl::StatusCode::kUnavailable,
                               absl::StrCat(member.name, " is gone: ", why.message()));
    for (auto& [id, step] : steps) {
      Part& part = step->parts[m];
      if (part.HasEnded()) continue;
      part.is_done = true;
      part.status = member.gone;
      Fail(id, *step, member.gone);
    }
    link = member.link;
  }
  Stir();
  if (link != nullptr) link->Close();
}

int State::MemberOf(const Peer& peer) {
  const std::lock_guard lock(mutex);
  const auto it = absl::c_find_if(members, [&](const Member& member) {
    return member.hello && member.hello->incarnation() == peer.incarnation;
  });
  return it == members.end() ? -1 : static_cast<int>(it - members.begin());
}

// What went by the channel may not have arrived: nobody knows.
void State::OnChannelLost(const Peer& peer, const absl::Status& why) {
  const int m = MemberOf(peer);
  if (m < 0) return;
  {
    const std::lock_guard lock(mutex);
    const auto status = absl::UnavailableError(
        absl::StrCat("the connection to ", members[m].name, " is gone: ", why.message()));
    for (auto& [id, step] : steps) {
      Part& part = step->parts[m];
      if (part.via.get() != &peer || part.HasEnded()) continue;
      // The worker may be there still.
      proto::ToWorker message;
      message.mutable_cancel()->set_step(id);
      ToProto(status, message.mutable_cancel()->mutable_status());
      SendTo(m, message);
      part.is_done = true;
      part.status = status;
      Fail(id, *step, status);
    }
  }
  Stir();
}

void State::Tick() {
  mesh.Tick();
  std::vector<int> silent;
  const int64_t now = host.clock().NowNanos();
  {
    const std::lock_guard lock(mutex);
    for (size_t m = 0; m < members.size(); ++m) {
      if (!members[m].gone.ok() || members[m].link == nullptr) continue;
      const int64_t quiet = now - members[m].heard_nanos;
      if (quiet > settings.failure_nanos) silent.push_back(static_cast<int>(m));
      if (quiet > settings.failure_nanos / 8) Ping(static_cast<int>(m));
    }
  }
  for (const int m : silent) {
    Lose(m, absl::UnavailableError(absl::StrCat("nothing was heard of it for ",
                                                settings.failure_nanos / kNanosPerMs, " ms")));
  }
}

absl::Status State::AnyGone() const {
  for (const Member& member : members) GYRE_RETURN_IF_ERROR(member.gone);
  return absl::OkStatus();
}

template <typename F>
absl::Status State::WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what, F is_so) {
  const int64_t deadline = host.clock().NowNanos() + 2 * settings.failure_nanos;
  while (true) {
    GYRE_RETURN_IF_ERROR(AnyGone());
    if (is_so()) return absl::OkStatus();
    const int64_t left = deadline - host.clock().NowNanos();
    if (left <= 0)
      return absl::UnavailableError(absl::StrCat("the cluster has not ", what, " in time"));
    host.Wait(lock, changed, left);
  }
}

absl::Status State::Connect(const LinkDialer& dial) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Place> places, ParsePlaces(settings.addresses));
  {
    const std::lock_guard lock(mutex);
    members.resize(places.size());
    for (size_t m = 0; m < members.size(); ++m) {
      members[m].name = places[m].name;
      members[m].heard_nanos = host.clock().NowNanos();
    }
  }
  for (size_t m = 0; m < places.size(); ++m) {
    absl::StatusOr<std::shared_ptr<ControlLink>> link =
        dial(places[m].address, std::make_shared<Handler>(weak_from_this(), static_cast<int>(m)));
    if (!link.ok()) {
      return absl::Status(link.status().code(),
                          absl::StrCat(places[m].name, ": ", link.status().message()));
    }
    proto::ToWorker hello;
    hello.mutable_hello()->set_version(kControlVersion);
    hello.mutable_hello()->set_token(settings.token);
    const std::lock_guard lock(mutex);
    members[m].link = *std::move(link);
    SendTo(static_cast<int>(m), hello);
  }
  std::unique_lock lock(mutex);
  const auto have_greeted = [this] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member& member) { return member.hello.has_value(); });
  };
  absl::Status status = WaitFor(lock, "answered", have_greeted);
  // Why a worker hangs up, it says before.
  proto::ToWorker message;
  proto::Join& join = *message.mutable_join();
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].hello) continue;
    const proto::HelloReply& hello = *members[m].hello;
    if (absl::Status refused = FromProto(hello.status()); !refused.ok()) {
      return absl::Status(refused.code(), absl::StrCat(members[m].name, ": ", refused.message()));
    }
    if (hello.num_devices() < 1 || hello.num_devices() > kMostDevices) {
      return absl::InternalError(
          absl::StrCat(members[m].name, " says that it has ", hello.num_devices(), " devices"));
    }
    for (size_t other = 0; other < m; ++other) {
      if (members[other].hello && members[other].hello->incarnation() == hello.incarnation()) {
        return absl::InvalidArgumentError(
            absl::StrCat(members[other].name, " and ", members[m].name, " are the same process"));
      }
    }
    for (int k = 0; k < hello.num_devices(); ++k) {
      DeviceName device = places[m].device;
      device.type = "CPU";
      device.id = k;
      devices.push_back(device);
      member_of_device.push_back(static_cast<int>(m));
    }
    proto::Join::Member& member = *join.add_members();
    member.set_name(members[m].name);
    member.set_incarnation(hello.incarnation());
    member.set_tcp(hello.tcp());
    member.set_memory(hello.memory());
    member.set_machine(hello.machine());
  }
  GYRE_RETURN_IF_ERROR(status);
  join.set_secret(settings.secret);
  join.set_transport(static_cast<int>(settings.transport));
  join.set_failure_ms(settings.failure_nanos / kNanosPerMs);
  join.set_client(settings.incarnation);
  for (size_t m = 0; m < members.size(); ++m) {
    join.set_self(static_cast<int>(m));
    SendTo(static_cast<int>(m), message);
  }
  GYRE_RETURN_IF_ERROR(WaitFor(lock, "found together", [this] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member& member) { return member.joined.has_value(); });
  }));
  for (const Member& member : members) {
    if (member.joined->ok()) continue;
    return absl::Status(member.joined->code(),
                        absl::StrCat(member.name, ": ", member.joined->message()));
  }
  if (settings.incarnation != 0) CallWorkers(lock);
  return absl::OkStatus();
}

// Opens channels to the workers. Where that fails, the control link carries everything; Tick tries
// again.
void State::CallWorkers(std::unique_lock<std::mutex>& lock) {
  const Transport transport =
      settings.transport == Transport::kTcp ? Transport::kTcp : Transport::kAuto;
  std::vector<uint64_t> called;
  for (const Member& member : members) {
    const proto::HelloReply& hello = *member.hello;
    const ChannelAddress address = {hello.tcp(), hello.memory(), hello.machine()};
    if (mesh.Expect(hello.incarnation(), member.name, address, transport, settings.secret, true)
            .ok()) {
      called.push_back(hello.incarnation());
    }
  }
  lock.unlock();
  const int64_t deadline = host.clock().NowNanos() + settings.failure_nanos / 4;
  while (true) {
    const uint64_t seen = mesh.wakes();
    const bool has_all =
        absl::c_all_of(called, [this](uint64_t peer) { return mesh.Find(peer) != nullptr; });
    const int64_t left = deadline - host.clock().NowNanos();
    if (has_all || left <= 0) break;
    mesh.Wait(seen, std::min(left, kCallLookNanos));
  }
  lock.lock();
}

class ClusterExecutable final : public Executable {
 public:
  ClusterExecutable(std::shared_ptr<State> state, uint64_t program, size_t num_fetches,
                    std::vector<proto::Compiled> parts)
      : state_(std::move(state)),
        program_(program),
        num_fetches_(num_fetches),
        parts_(std::move(parts)) {}

  ~ClusterExecutable() override {
    proto::ToWorker message;
    message.mutable_drop()->set_program(program_);
    const std::lock_guard lock(state_->mutex);
    for (size_t m = 0; m < parts_.size(); ++m) state_->SendTo(static_cast<int>(m), message);
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override;

 private:
  absl::Status Start(uint64_t step, Underway& underway, absl::Span<const Tensor> feeds,
                     const RunEnv& env) const;
  void AwaitEnd(uint64_t step, Underway& underway, RunEnv& env) const;
  void Ask(uint64_t step, const Underway& underway) const;
  absl::StatusOr<std::vector<Tensor>> Results(const Underway& underway, const RunEnv& env) const;

  const std::shared_ptr<State> state_;
  const uint64_t program_;
  const size_t num_fetches_;
  const std::vector<proto::Compiled> parts_;  // by member
};

absl::Status ClusterExecutable::Start(uint64_t step, Underway& underway,
                                      absl::Span<const Tensor> feeds, const RunEnv& env) const {
  std::vector<std::string> messages(parts_.size());
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!parts_[m].takes_part()) continue;
    proto::ToWorker message;
    proto::Run& run = *message.mutable_run();
    run.set_step(step);
    run.set_program(program_);
    run.set_run_id(env.run_id);
    run.set_seed(env.seed);
    run.set_budget_bytes(env.budget == nullptr ? 0 : env.budget->limit());
    run.set_look_out_nanos(state_->settings.look_out_nanos);
    if (underway.watched != nullptr) *run.mutable_watch() = underway.watched->Wishes();
    for (const int feed : parts_[m].feeds())
      GYRE_RETURN_IF_ERROR(EncodeTensor(feeds[feed], *run.add_feeds()));
    messages[m] = message.SerializeAsString();
  }
  const std::lock_guard lock(state_->mutex);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!parts_[m].takes_part()) continue;
    if (underway.watched != nullptr) {
      // All by the link, in order: the ping is answered before any firing is told of, and all of
      // these before the end.
      state_->members[m].more_pings = kMorePings;
      state_->Ping(static_cast<int>(m));
    } else if (messages[m].size() <= Channel::kMaxEagerBytes) {
      underway.parts[m].via = state_->mesh.Find(state_->members[m].hello->incarnation());
    }
    state_->Tell(static_cast<int>(m), underway.parts[m], std::move(messages[m]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Run(absl::Span<const Tensor> feeds,
                                                           RunEnv& env,
                                                           const RunHooks& hooks) const {
  if (!env.sandbox.empty()) {
    return absl::UnimplementedError("a cluster's workers know no folder of this process");
  }
  std::optional<WatchedRun> watched;
  if (hooks.observer != nullptr || hooks.progress != nullptr) {
    watched.emplace(hooks, static_cast<int>(parts_.size()), state_->host.clock().NowNanos());
    GYRE_RETURN_IF_ERROR(watched->Check());
  }
  Underway underway;
  underway.parts.resize(parts_.size());
  underway.watched = watched ? &*watched : nullptr;
  uint64_t step = 0;
  {
    const std::lock_guard lock(state_->mutex);
    for (size_t m = 0; m < parts_.size(); ++m) {
      underway.parts[m].takes_part = parts_[m].takes_part();
      if (!parts_[m].takes_part()) continue;
      GYRE_RETURN_IF_ERROR(state_->members[m].gone);
      if (watched && !state_->members[m].hello->can_be_watched()) {
        return absl::UnimplementedError(absl::StrCat(
            state_->members[m].name, " is of an older Gyre, whose runs cannot be watched"));
      }
    }
    step = state_->next_step++;
    state_->steps.emplace(step, &underway);
  }
  const auto forget = [&] {
    std::unique_lock lock(state_->mutex);
    state_->steps.erase(step);
    while (underway.telling > 0)
      state_->host.Wait(lock, state_->changed, std::numeric_limits<int64_t>::max());
  };
  if (absl::Status status = Start(step, underway, feeds, env); !status.ok()) {
    forget();
    return status;
  }
  // Runs on whatever thread cancels; the state outlives it.
  const int64_t callback =
      env.cancellation->AddCallback([state = state_, step, cancellation = env.cancellation] {
        const absl::Status why = cancellation->status();
        {
          const std::lock_guard lock(state->mutex);
          const auto it = state->steps.find(step);
          if (it != state->steps.end()) state->Fail(step, *it->second, why);
        }
        state->Stir();
      });
  AwaitEnd(step, underway, env);
  forget();
  env.cancellation->RemoveCallback(callback);
  if (hooks.elsewhere != nullptr) {
    for (const Part& part : underway.parts)
      hooks.elsewhere->peak_bytes = std::max(hooks.elsewhere->peak_bytes, part.result.peak_bytes());
  }
  return Results(underway, env);
}

// Puts a question of who watches to the workers, if there is one.
void ClusterExecutable::Ask(uint64_t step, const Underway& underway) const {
  std::vector<bool> has_ended;
  {
    const std::lock_guard lock(state_->mutex);
    for (const Part& part : underway.parts) has_ended.push_back(part.HasEnded());
  }
  const uint64_t question = underway.watched->Question(has_ended);
  if (question == 0) return;
  proto::ToWorker message;
  message.mutable_ask()->set_step(step);
  message.mutable_ask()->set_question(question);
  const std::lock_guard lock(state_->mutex);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].HasEnded()) state_->SendTo(static_cast<int>(m), message);
  }
}

// Polls and sleeps on the client's channels until all parts have ended or, told to stop, have had
// time enough; prints meanwhile.
void ClusterExecutable::AwaitEnd(uint64_t step, Underway& underway, RunEnv& env) const {
  const bool asks = underway.watched != nullptr && underway.watched->asks();
  const Clock& clock = state_->host.clock();
  int64_t give_up = 0;  // when to wait no longer for those that were told to stop
  while (true) {
    const uint64_t seen = state_->mesh.wakes();
    std::deque<proto::Printed> printed;
    int64_t left = std::numeric_limits<int64_t>::max();
    {
      const std::lock_guard lock(state_->mutex);
      printed.swap(underway.printed);
      if (printed.empty()) {
        if (underway.HasEnded()) return;
        if (!underway.first.ok()) {
          if (give_up == 0) give_up = clock.NowNanos() + state_->settings.failure_nanos;
          left = give_up - clock.NowNanos();
          if (left <= 0) return;
        } else if (env.cancellation->deadline_nanos() != Cancellation::kNoDeadline) {
          left = env.cancellation->deadline_nanos() - env.cancellation->clock().NowNanos();
        }
      }
    }
    for (const proto::Printed& text : printed) env.print(text.stream(), text.text());
    if (asks) left = std::min(left, WatchedRun::kAskNanos);
    if (printed.empty() && left > 0) state_->mesh.Wait(seen, left);
    if (asks) Ask(step, underway);
    env.cancellation->Poll().IgnoreError();  // past the deadline, this cancels
  }
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Results(const Underway& underway,
                                                               const RunEnv& env) const {
  if (!underway.first.ok()) {
    std::vector<MemberFailure> failures;
    for (size_t m = 0; m < parts_.size(); ++m) {
      const Part& part = underway.parts[m];
      if (part.takes_part) failures.push_back({state_->members[m].name, part.is_done, part.status});
    }
    return StepFailure(underway.first, failures);
  }
  std::vector<Tensor> results(num_fetches_);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].takes_part) continue;
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                          FromProto(underway.parts[m].result.fetches(), env.budget));
    if (static_cast<int>(values.size()) != parts_[m].fetches_size())
      return absl::InternalError(absl::StrCat(state_->members[m].name, " gave too few results"));
    for (size_t i = 0; i < values.size(); ++i)
      results[parts_[m].fetches(static_cast<int>(i))] = values[i];
  }
  return results;
}

class ClusterEngine final : public Engine {
 public:
  explicit ClusterEngine(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~ClusterEngine() override {
    state_->ticker.reset();
    std::vector<std::shared_ptr<ControlLink>> links;
    {
      const std::lock_guard lock(state_->mutex);
      for (const Member& member : state_->members) links.push_back(member.link);
    }
    for (const auto& link : links) {
      if (link != nullptr) link->Close();
    }
  }

  absl::string_view name() const override { return "cluster"; }
  std::vector<DeviceName> devices() const override { return state_->devices; }
  void EndState(uint64_t number) const override {
    proto::ToWorker message;
    message.mutable_drop()->set_state(number);
    const std::lock_guard lock(state_->mutex);
    for (size_t m = 0; m < state_->members.size(); ++m)
      state_->SendTo(static_cast<int>(m), message);
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override;

 private:
  const std::shared_ptr<State> state_;
};

// Whether the workers take feeds that there are, and give every fetch.
absl::Status CheckParts(const std::vector<proto::Compiled>& parts, const RunSignature& signature) {
  const auto feeds = static_cast<int>(signature.feeds.size());
  std::vector<bool> is_given(signature.fetches.size());
  const auto fetches = static_cast<int>(is_given.size());
  for (const proto::Compiled& part : parts) {
    const auto is_feed = [&](int i) { return i >= 0 && i < feeds; };
    const auto is_fetch = [&](int i) { return i >= 0 && i < fetches; };
    if (!std::all_of(part.feeds().begin(), part.feeds().end(), is_feed) ||
        !std::all_of(part.fetches().begin(), part.fetches().end(), is_fetch)) {
      return absl::InternalError("a worker takes or gives what the program does not have");
    }
    if (!part.takes_part()) continue;
    for (const int fetch : part.fetches()) is_given[fetch] = true;
  }
  if (!std::all_of(is_given.begin(), is_given.end(), [](bool is) { return is; }))
    return absl::InternalError("no worker gives one of the results");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Executable>> ClusterEngine::Compile(
    std::shared_ptr<const Program> program, const RunSignature& signature,
    const EngineOptions& options) const {
  const auto homes = place::HomesOfState(*program);
  GYRE_ASSIGN_OR_RETURN(const Staged needed, PrunePass(MakeStaged(std::move(program), signature)));
  const Function& main = needed.program->main();
  const auto endpoint = [&](NodeId node, int slot, proto::Compile::Endpoint* out) {
    out->set_node(main.node(node).name);
    out->set_slot(slot);
    out->set_index(node);
  };
  proto::ToWorker message;
  proto::Compile& compile = *message.mutable_compile();
  GYRE_ASSIGN_OR_RETURN(*compile.mutable_graph(), ExportGraphDef(*needed.program));
  for (const Endpoint& e : needed.signature.feeds) endpoint(e.node, e.slot, compile.add_feeds());
  for (const Endpoint& e : needed.signature.fetches)
    endpoint(e.node, e.slot, compile.add_fetches());
  for (const NodeId target : needed.signature.targets) endpoint(target, 0, compile.add_targets());
  for (size_t d = 0; d < state_->devices.size(); ++d) {
    proto::Compile::Device& device = *compile.add_devices();
    device.set_name(state_->devices[d].ToString());
    device.set_member(state_->member_of_device[d]);
  }
  for (const auto& [state, device] : homes) {
    proto::Compile::Home& home = *compile.add_homes();
    home.set_state(state);
    home.set_device(device);
  }
  compile.set_window(options.window);
  compile.set_soft_placement(options.place.soft);
  compile.set_spreads(options.place.spread_seed.has_value());
  compile.set_spread_seed(options.place.spread_seed.value_or(0));
  compile.set_shared_state(state_->settings.shared_state);
  compile.set_state(options.state);
  compile.set_has_schedule_seed(options.schedule_seed.has_value());
  compile.set_schedule_seed(options.schedule_seed.value_or(0));

  std::unique_lock lock(state_->mutex);
  GYRE_RETURN_IF_ERROR(state_->AnyGone());
  const uint64_t id = state_->next_program++;
  compile.set_program(id);
  const size_t n = state_->members.size();
  state_->compiling[id].replies.resize(n);
  for (size_t m = 0; m < n; ++m) state_->SendTo(static_cast<int>(m), message);
  // A large program takes its time; workers that are gone are noticed.
  absl::Status status;
  const auto has_all = [&] {
    const auto& replies = state_->compiling[id].replies;
    return std::all_of(replies.begin(), replies.end(), [](const auto& r) { return r.has_value(); });
  };
  while (status.ok() && !has_all()) {
    state_->host.Wait(lock, state_->changed, state_->settings.failure_nanos);
    status = state_->AnyGone();
  }
  std::vector<proto::Compiled> parts;
  for (std::optional<proto::Compiled>& reply : state_->compiling[id].replies) {
    if (!reply) continue;
    status.Update(FromProto(reply->status()));
    parts.push_back(*std::move(reply));
  }
  state_->compiling.erase(id);
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(CheckParts(parts, signature));
  return std::unique_ptr<Executable>(
      std::make_unique<ClusterExecutable>(state_, id, signature.fetches.size(), std::move(parts)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Engine>> ConnectCluster(Host& host, const LinkDialer& dial,
                                                       const ClusterSettings& settings) {
  auto state = std::make_shared<State>(host, settings);
  auto engine = std::make_shared<ClusterEngine>(state);
  const int64_t tick = std::min(settings.failure_nanos / 8, kMostTickNanos);
  state->ticker = host.Every(tick, [weak = std::weak_ptr<State>(state)] {
    if (const auto locked = weak.lock()) locked->Tick();
  });
  GYRE_RETURN_IF_ERROR(state->Connect(dial));
  return std::shared_ptr<Engine>(std::move(engine));
}

}  // namespace gyre::dist
