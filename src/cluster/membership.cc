#include "cluster/membership.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/out_of_memory.h"
#include "base/status.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
// How often who calls the workers looks whether they have answered.
constexpr int64_t kCallLookNanos = 20 * kNanosPerMs;
constexpr int kMostDevices = 1024;  // of a worker, as ParseDeviceSet

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

proto::ToWorker CancelMessage(uint64_t step, const absl::Status& why) {
  proto::ToWorker message;
  message.mutable_cancel()->set_step(step);
  ToProto(why, message.mutable_cancel()->mutable_status());
  return message;
}

class Handler final : public LinkHandler {
 public:
  Handler(std::shared_ptr<HandlerCalls> calls, int member)
      : calls_(std::move(calls)), member_(member) {}
  void OnMessage(absl::string_view message) override {
    calls_->Call([&](Membership& membership) { membership.OnMessage(member_, message); });
  }
  void OnClosed(const absl::Status& why) override {
    calls_->Call([&](Membership& membership) { membership.Lose(member_, why); });
  }

 private:
  const std::shared_ptr<HandlerCalls> calls_;
  const int member_;
};

}  // namespace

template <typename F>
void HandlerCalls::Call(F call) {
  Membership* membership = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (membership_ == nullptr) return;
    membership = membership_;
    ++running_;
  }
  const absl::Cleanup leave = [this] {
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  };
  call(*membership);
}

void HandlerCalls::End(Host& host) {
  std::unique_lock lock(mutex_);
  membership_ = nullptr;
  while (running_ > 0) host.Wait(lock, changed_, std::numeric_limits<int64_t>::max());
}

void Membership::OnMessage(int m, absl::string_view bytes) {
  if (!Again([&] { Take(m, bytes); })) Lose(m, OutOfMemoryError("what it says"));
}

void Membership::Take(int m, absl::string_view bytes) {
  proto::FromWorker message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Lose(m, absl::DataLossError("it sent what is no message"));
  }
  if (message.what_case() == proto::FromWorker::kFired) TellFirings(m, message.fired());
  if (message.what_case() == proto::FromWorker::kProgress) {
    TellWatched(message.progress().step(), [&](Underway& step) {
      step.watched->OnProgress(m, message.progress());
      return absl::OkStatus();
    });
  }
  {
    const std::lock_guard lock(mutex);
    Member& member = members[m];
    member.heard_nanos = host.clock().NowNanos();
    switch (message.what_case()) {
      case proto::FromWorker::kHello:
        member.hello = std::move(*message.mutable_hello());
        break;
      case proto::FromWorker::kJoined:
        member.joined = FromProto(message.joined().status());
        break;
      case proto::FromWorker::kCompiled: {
        const auto it = compiling.find(message.compiled().program());
        if (it != compiling.end()) it->second.replies[m] = std::move(*message.mutable_compiled());
        break;
      }
      case proto::FromWorker::kDone: {
        const auto it = steps.find(message.done().step());
        if (it == steps.end()) return;
        Part& part = it->second->parts[m];
        if (!part.takes_part || part.is_done) return;
        part.status = FromProto(message.done().status());
        part.is_done = true;
        part.result = std::move(*message.mutable_done());
        if (!part.status.ok()) Fail(it->first, *it->second, part.status);
        break;
      }
      case proto::FromWorker::kPrinted: {
        const auto it = steps.find(message.printed().step());
        if (it == steps.end()) return;
        Underway& step = *it->second;
        step.printed.push_back(std::move(*message.mutable_printed()));
        ++step.parts[m].printed;
        break;
      }
      case proto::FromWorker::kPong:
        if (message.pong().number() != member.ping) return;
        member.answered_nanos = member.ping_nanos;
        member.clock.Add(member.ping_nanos, message.pong().nanos(), member.heard_nanos);
        if (member.more_pings > 0) {
          --member.more_pings;
          Ping(m);
        }
        return;
      case proto::FromWorker::kLost:
        FailRunsOver(m, message.lost());
        break;
      case proto::FromWorker::kFired:
      case proto::FromWorker::kProgress:
      case proto::FromWorker::WHAT_NOT_SET:
        return;
    }
  }
  Stir();
}

// Of two workers between which a channel is gone. Both notice that, and tell it: whoever has sent
// something by it tells it while the other still waits. Requirement: mutex is held.
void Membership::FailRunsOver(int m, const proto::Lost& lost) {
  const auto other = absl::c_find_if(members, [&](const Member& member) {
    return member.hello && member.hello->incarnation() == lost.incarnation();
  });
  if (other == members.end()) return;
  const absl::Status status =
      absl::UnavailableError(absl::StrCat("the connection between ", members[m].name, " and ",
                                          other->name, " is gone: ", lost.why().message()));
  for (auto& [id, step] : steps) {
    const Part& one = step->parts[m];
    const Part& peer = step->parts[static_cast<size_t>(other - members.begin())];
    if (one.takes_part && peer.takes_part && !(one.HasEnded() && peer.HasEnded()))
      Fail(id, *step, status);
  }
}

template <typename F>
void Membership::TellWatched(uint64_t id, F tell) {
  Underway* step = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto it = steps.find(id);
    if (it == steps.end() || it->second->watched == nullptr) return;
    step = it->second;
    ++step->telling;
  }
  const absl::Status status = CatchOutOfMemory("who watches a run", [&] { return tell(*step); });
  {
    const std::lock_guard lock(mutex);
    if (!status.ok()) Fail(id, *step, status);
    --step->telling;
  }
  Stir();
}

void Membership::TellFirings(int m, const proto::Fired& fired) {
  TellWatched(fired.step(), [&](Underway& step) {
    int64_t offset = 0;
    {
      const std::lock_guard lock(mutex);
      offset = members[m].clock.nanos();
    }
    const absl::Status status = step.watched->OnFired(m, fired, offset, host.clock().NowNanos());
    proto::ToWorker seen;
    seen.mutable_seen()->set_step(fired.step());
    const std::lock_guard lock(mutex);
    MustSendTo(m, seen);
    return status;
  });
}

void Membership::Ping(int m) {
  Member& member = members[m];
  member.ping = next_ping++;
  member.ping_nanos = host.clock().NowNanos();
  proto::ToWorker message;
  message.mutable_ping()->set_number(member.ping);
  SendTo(m, message);
}

// Tells everybody else to stop. Requirement: mutex is held; who calls it stirs.
void Membership::Fail(uint64_t id, Underway& step, const absl::Status& why) {
  if (!step.first.ok()) return;
  step.first = why;
  for (size_t m = 0; m < members.size(); ++m) {
    const Part& part = step.parts[m];
    if (!part.takes_part || part.is_done) continue;
    const bool is_told =
        Again([&] { Tell(static_cast<int>(m), part, CancelMessage(id, why).SerializeAsString()); });
    if (!is_told) members[m].link->Close();  // which ends what it runs
  }
}

void Membership::Tell(int m, const Part& part, std::string message) {
  if (part.via != nullptr && message.size() <= Channel::kMaxEagerBytes) {
    mesh.Tell(*part.via, std::move(message));
  } else {
    members[m].link->Send(std::move(message));
  }
}

void Membership::Lose(int m, const absl::Status& why) {
  std::shared_ptr<ControlLink> link;
  {
    const std::lock_guard lock(mutex);
    Member& member = members[m];
    if (!member.gone.ok()) return;
    const bool is_refusal = absl::IsUnauthenticated(why) || absl::IsFailedPrecondition(why);
    member.gone = CatchOutOfMemory("the end of a worker", [&] {
      return absl::Status(is_refusal ? why.code() : absl::StatusCode::kUnavailable,
                          absl::StrCat(member.name, " is gone: ", why.message()));
    });
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

int Membership::MemberOf(const Peer& peer) {
  const std::lock_guard lock(mutex);
  const auto it = absl::c_find_if(members, [&](const Member& member) {
    return member.hello && member.hello->incarnation() == peer.incarnation;
  });
  return it == members.end() ? -1 : static_cast<int>(it - members.begin());
}

// What went by the channel may not have arrived: nobody knows.
void Membership::OnChannelLost(const Peer& peer, const absl::Status& why) {
  const int m = MemberOf(peer);
  if (m < 0) return;
  {
    const std::lock_guard lock(mutex);
    const auto status = CatchOutOfMemory("the end of a connection", [&] {
      return absl::UnavailableError(
          absl::StrCat("the connection to ", members[m].name, " is gone: ", why.message()));
    });
    for (auto& [id, step] : steps) {
      Part& part = step->parts[m];
      if (part.via.get() != &peer || part.HasEnded()) continue;
      // The worker may be there still.
      if (!Again([&] { SendTo(m, CancelMessage(id, status)); })) members[m].link->Close();
      part.is_done = true;
      part.status = status;
      Fail(id, *step, status);
    }
  }
  Stir();
}

// What a tick has no memory for is left to the next one.
void Membership::Tick() {
  CatchOutOfMemory("a look at all workers", [&] {
    LookAtAll();
    return absl::OkStatus();
  }).IgnoreError();
}

void Membership::LookAtAll() {
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

absl::Status Membership::AnyGone() const {
  for (const Member& member : members) GYRE_RETURN_IF_ERROR(member.gone);
  return absl::OkStatus();
}

template <typename F>
absl::Status Membership::WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what,
                                 F is_so) {
  const int64_t deadline = std::min(host.clock().NowNanos() + 2 * settings.failure_nanos,
                                    settings.connect_deadline_nanos);
  while (true) {
    GYRE_RETURN_IF_ERROR(AnyGone());
    if (is_so()) return absl::OkStatus();
    const int64_t left = deadline - host.clock().NowNanos();
    if (left <= 0)
      return absl::UnavailableError(absl::StrCat("the cluster has not ", what, " in time"));
    host.Wait(lock, changed, left);
  }
}

absl::Status Membership::Connect(const LinkDialer& dial) {
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
        dial(places[m].address, std::make_shared<Handler>(calls, static_cast<int>(m)));
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
void Membership::CallWorkers(std::unique_lock<std::mutex>& lock) {
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
  const int64_t deadline = std::min(host.clock().NowNanos() + settings.failure_nanos / 4,
                                    settings.connect_deadline_nanos);
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

}  // namespace gyre::cluster
