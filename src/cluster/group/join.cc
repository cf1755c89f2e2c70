#include "cluster/group/join.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/attention.h"
#include "base/env.h"
#include "base/signals.h"
#include "base/status.h"
#include "cluster/gate/gate.h"
#include "cluster/gate/knock.h"
#include "cluster/group/group.h"
#include "cluster/group/seats.h"
#include "cluster/messages.h"
#include "cluster/proto/group.pb.h"
#include "cluster/serve.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int64_t kTickNanos = 50 * kNanosPerMs;
constexpr int64_t kCallAgainNanos = 50 * kNanosPerMs;
constexpr int64_t kSpinNanos = 50'000;
constexpr int kMostRanks = 1 << 16;
constexpr uint32_t kMostMessage = 64 << 20;
// Of who needs none, for nobody but this machine's programs can call.
constexpr absl::string_view kOpenToken = "ranks of one machine";

uint64_t Random() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// ---- Messages, behind their size

absl::Status LateError(absl::string_view what) {
  return absl::DeadlineExceededError(absl::StrCat(what, ": the time to join is over"));
}

// Between waits: signals of the program are handled, and may end this.
absl::Status Attend(Cancellation* cancellation) {
  Attention::Attend();
  return cancellation == nullptr ? absl::OkStatus() : cancellation->Poll();
}

absl::Status WriteAll(const Fd& socket, absl::string_view bytes, int64_t deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return SystemError("cannot write");
    } else if (!AwaitEvents(socket, POLLOUT, deadline)) {
      return LateError("cannot write");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAll(const Fd& socket, char* into, size_t size, int64_t deadline,
                     Cancellation* cancellation) {
  while (size > 0) {
    const ssize_t n = recv(socket.get(), into, size, MSG_DONTWAIT);
    if (n > 0) {
      into += n;
      size -= static_cast<size_t>(n);
    } else if (n == 0) {
      return absl::UnavailableError("it has hung up");
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return SystemError("cannot read");
    } else {
      const int64_t now = SystemClock().NowNanos();
      if (now >= deadline) return LateError("cannot read");
      AwaitEvents(socket, POLLIN, std::min(deadline, now + kTickNanos));
      GYRE_RETURN_IF_ERROR(Attend(cancellation));
    }
  }
  return absl::OkStatus();
}

template <typename Message>
absl::Status WriteMessage(const Fd& socket, const Message& message, int64_t deadline) {
  const std::string bytes = message.SerializeAsString();
  const uint32_t size = htonl(static_cast<uint32_t>(bytes.size()));
  const std::string framed =
      absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&size), sizeof(size)), bytes);
  return WriteAll(socket, framed, deadline);
}

template <typename Message>
absl::StatusOr<Message> ReadMessage(const Fd& socket, int64_t deadline,
                                    Cancellation* cancellation) {
  uint32_t size = 0;
  GYRE_RETURN_IF_ERROR(
      ReadAll(socket, reinterpret_cast<char*>(&size), sizeof(size), deadline, cancellation));
  size = ntohl(size);
  if (size > kMostMessage) return absl::InvalidArgumentError("it sends what is no message");
  std::string bytes(size, '\0');
  GYRE_RETURN_IF_ERROR(ReadAll(socket, bytes.data(), size, deadline, cancellation));
  Message message;
  if (!message.ParseFromString(bytes))
    return absl::InvalidArgumentError("it sends what is no message");
  return message;
}

// ---- The coordinator

// Callers who know the token.
class Callers {
 public:
  void Add(Fd caller) {
    const std::lock_guard lock(mutex_);
    callers_.push_back(std::move(caller));
    changed_.notify_all();
  }
  // The next one; none within a moment: an empty Fd.
  Fd Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::nanoseconds(kTickNanos),
                           [this] { return !callers_.empty(); }))
      return Fd();
    Fd next = std::move(callers_.front());
    callers_.pop_front();
    return next;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Fd> callers_;  // guarded by mutex_
};

// What is wrong with one who wants to join.
absl::Status CheckEnlisted(const proto::Enlist& enlist, const JoinOptions& options) {
  if (enlist.version() != kControlVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator speaks version ", kControlVersion, " and not ",
                     enlist.version(), ": install the same Gyre everywhere"));
  }
  if (enlist.size() != options.size || enlist.rank() < 1 || enlist.rank() >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", enlist.rank(), " of ", enlist.size(),
                                                   " calls where there are ", options.size,
                                                   " ranks"));
  }
  if (enlist.launch() != options.launch) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", enlist.rank(), " belongs to another launch (\"", enlist.launch(),
                     "\") than the coordinator (\"", options.launch, "\")"));
  }
  return absl::OkStatus();
}

void Tell(const Fd& caller, const absl::Status& why, int64_t deadline) {
  proto::Roster roster;
  ToProto(why, roster.mutable_status());
  WriteMessage(caller, roster, deadline).IgnoreError();
}

// Reads what a caller says, and gives it its seat.
absl::Status Admit(Fd caller, const JoinOptions& options, int64_t deadline, Seats& seats) {
  const int64_t soon = std::min(deadline, SystemClock().NowNanos() + 5'000 * kNanosPerMs);
  const auto enlist = ReadMessage<proto::Enlist>(caller, soon, options.cancellation);
  if (!enlist.ok()) return absl::OkStatus();
  if (const absl::Status wrong = CheckEnlisted(*enlist, options); !wrong.ok()) {
    Tell(caller, wrong, soon);
    return absl::OkStatus();
  }
  for (const Seats::Refused& refused : seats.Take(std::move(caller), *enlist))
    Tell(refused.caller, refused.why, soon);
  return seats.CheckCoordinator();
}

// Waits for all ranks, and tells each of all. `epoch` becomes the group's once anybody is told.
absl::StatusOr<proto::Roster> Coordinate(const JoinOptions& options,
                                         const proto::Join::Member& self, const std::string& token,
                                         int64_t deadline, uint64_t& epoch) {
  GYRE_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.coordinator));
  const auto callers = std::make_shared<Callers>();
  GateOptions gate_options;
  gate_options.token = token;
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Gate> gate,
                        Gate::Open(address, std::move(gate_options),
                                   [callers](Fd caller) { callers->Add(std::move(caller)); }));
  Seats seats(options.size, self, epoch);
  std::vector<int> missing = seats.Missing();
  while (!missing.empty() && SystemClock().NowNanos() < deadline) {
    GYRE_RETURN_IF_ERROR(Attend(options.cancellation));
    Fd caller = callers->Next();
    if (caller) GYRE_RETURN_IF_ERROR(Admit(std::move(caller), options, deadline, seats));
    seats.FreeDead();
    missing = seats.Missing();
  }
  if (!missing.empty()) {
    std::vector<std::string> names;
    for (const int rank : missing) names.push_back(absl::StrCat("rank ", rank));
    const absl::Status late = absl::DeadlineExceededError(absl::StrCat(
        "within ", options.join_timeout_ms, " ms there was no ", absl::StrJoin(names, ", ")));
    for (int rank = 1; rank < options.size; ++rank) {
      if (seats.caller(rank)) Tell(seats.caller(rank), late, deadline + 1'000 * kNanosPerMs);
    }
    return late;
  }
  epoch = seats.epoch() + 1;
  proto::Roster roster;
  for (int rank = 0; rank < options.size; ++rank) *roster.add_members() = seats.member(rank);
  roster.set_secret(DrawToken());
  roster.set_epoch(epoch);
  for (int rank = 1; rank < options.size; ++rank) {
    const absl::Status told = WriteMessage(seats.caller(rank), roster, deadline);
    if (!told.ok()) return Annotate(told, absl::StrCat("rank ", rank));
  }
  return roster;
}

// ---- The others

// A connection that has shown the token, once the coordinator is there.
absl::StatusOr<Fd> Call(const JoinOptions& options, const std::string& token, int64_t deadline) {
  while (true) {
    const int64_t now = SystemClock().NowNanos();
    absl::StatusOr<Fd> socket =
        Knock(options.coordinator, token,
              std::clamp<int64_t>(deadline - now, 0, options.failure_timeout_ms * kNanosPerMs));
    const bool may_come = absl::IsUnavailable(socket.status());
    if (socket.ok() || !may_come) return socket;
    if (SystemClock().NowNanos() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("within ", options.join_timeout_ms,
                       " ms there was no coordinator: ", socket.status().message()));
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(kCallAgainNanos));
    GYRE_RETURN_IF_ERROR(Attend(options.cancellation));
  }
}

absl::StatusOr<std::string> OwnHost(const Fd& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return SystemError("cannot tell this machine's address");
  char text[INET6_ADDRSTRLEN] = "";
  if (name.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(name).sin6_addr, text, sizeof(text));
  } else {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(name).sin_addr, text, sizeof(text));
  }
  return std::string(text);
}

proto::Join::Member MemberOf(uint64_t incarnation, const ChannelAddress& address) {
  proto::Join::Member member;
  member.set_incarnation(incarnation);
  member.set_tcp(address.tcp);
  member.set_memory(address.memory);
  member.set_machine(address.machine);
  return member;
}

// ---- A rank as a process

// Whether another attempt may end otherwise: some rank was lost on the way, or was not there yet.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsAlreadyExists(status);
}

class Rank {
 public:
  ~Rank() { End(); }

  absl::Status Join(const JoinOptions& options) {
    const int64_t deadline = SystemClock().NowNanos() + options.join_timeout_ms * kNanosPerMs;
    epoch_ = options.epoch;
    while (true) {
      absl::Status status = JoinBefore(deadline, options);
      if (status.ok() || !options.tries_again || !MayPass(status) ||
          SystemClock().NowNanos() >= deadline)
        return status;
      if (group_ != nullptr) group_->Leave(std::string(status.message()));
      End();
      std::this_thread::sleep_for(std::chrono::nanoseconds(kCallAgainNanos));
      GYRE_RETURN_IF_ERROR(Attend(options.cancellation));
    }
  }
  Group* group() { return group_.get(); }
  // Of the last group that this process was told of.
  uint64_t epoch() const { return epoch_; }

 private:
  void End() {
    if (group_ != nullptr) group_->Leave("");
    if (mover_.joinable()) mover_.join();
    ticks_.reset();
    group_.reset();
    host_.reset();
  }

  absl::Status JoinBefore(int64_t deadline, const JoinOptions& options) {
    GYRE_ASSIGN_OR_RETURN(const HostPort coordinator, ParseHostPort(options.coordinator));
    const std::string token = options.token.empty() ? std::string(kOpenToken) : options.token;
    GroupSettings settings;
    settings.rank = options.rank;
    settings.transport = options.transport;
    settings.failure_nanos = options.failure_timeout_ms * kNanosPerMs;
    const uint64_t incarnation = Random();
    proto::Roster roster;
    if (options.rank == 0) {
      GYRE_ASSIGN_OR_RETURN(host_, MachineHost(coordinator.host));
      GYRE_ASSIGN_OR_RETURN(
          roster, Coordinate(options, MemberOf(incarnation, host_->channel_address()), token,
                             deadline, epoch_));
    } else {
      GYRE_ASSIGN_OR_RETURN(roster, Enlist(options, incarnation, token, deadline));
      epoch_ = roster.epoch();
    }
    settings.epoch = roster.epoch();
    settings.secret = roster.secret();
    int near = 0;
    for (const proto::Join::Member& member : roster.members()) {
      settings.members.push_back(
          {member.incarnation(), {member.tcp(), member.memory(), member.machine()}});
      near += member.machine() == host_->channel_address().machine ? 1 : 0;
    }
    // Where ranks have no core of their own, looking out would keep others from coming.
    settings.spin_nanos = near <= NumProcessors() ? kSpinNanos : 0;
    if (options.spin_us >= 0) settings.spin_nanos = options.spin_us * 1'000;
    group_ = std::make_unique<Group>(*host_, settings);
    ticks_ = host_->Every(kTickNanos, [this] { group_->Tick(); });
    mover_ = StartThread(group_->Mover());
    // All have just been there: who is lost now is waited for in the next attempt.
    const int64_t soon = SystemClock().NowNanos() + settings.failure_nanos;
    const int64_t latest = options.tries_again ? soon : std::max(deadline, soon);
    GYRE_RETURN_IF_ERROR(group_->Connect(latest));
    return group_->Meet(latest);
  }

  // What the coordinator says once all are there.
  absl::StatusOr<proto::Roster> Enlist(const JoinOptions& options, uint64_t incarnation,
                                       const std::string& token, int64_t deadline) {
    GYRE_ASSIGN_OR_RETURN(const Fd socket, Call(options, token, deadline));
    GYRE_ASSIGN_OR_RETURN(const std::string own_host, OwnHost(socket));
    GYRE_ASSIGN_OR_RETURN(host_, MachineHost(own_host));
    proto::Enlist enlist;
    enlist.set_version(kControlVersion);
    enlist.set_rank(options.rank);
    enlist.set_size(options.size);
    enlist.set_launch(options.launch);
    enlist.set_epoch(epoch_);
    *enlist.mutable_self() = MemberOf(incarnation, host_->channel_address());
    GYRE_RETURN_IF_ERROR(WriteMessage(socket, enlist, deadline));
    // A moment longer than the coordinator waits, which says who is missing.
    auto roster =
        ReadMessage<proto::Roster>(socket, deadline + 2'000 * kNanosPerMs, options.cancellation);
    if (absl::IsCancelled(roster.status())) return roster.status();
    if (!roster.ok()) return Annotate(roster.status(), "the coordinator is gone");
    GYRE_RETURN_IF_ERROR(FromProto(roster->status()));
    if (roster->members_size() != options.size)
      return absl::DataLossError("the coordinator tells of another number of ranks");
    return roster;
  }

  uint64_t epoch_ = 0;  // of the last group that this process was in
  std::unique_ptr<Host> host_;
  std::unique_ptr<Group> group_;
  std::shared_ptr<void> ticks_;
  std::thread mover_;
};

absl::Status Check(const JoinOptions& options) {
  if (options.size < 1 || options.size > kMostRanks || options.rank < 0 ||
      options.rank >= options.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no rank ", options.rank, " of ", options.size, " ranks"));
  }
  if (options.failure_timeout_ms < 10 || options.failure_timeout_ms > 3'600'000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a failure timeout is between 10 ms and an hour, not ", options.failure_timeout_ms, " ms"));
  }
  if (options.join_timeout_ms < 1 || options.join_timeout_ms > 86'400'000 ||
      options.spin_us > 1'000'000) {
    return absl::InvalidArgumentError("ranks join within a day, and spin for 1,000,000 µs at most");
  }
  GYRE_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.coordinator));
  if (address.port == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the coordinator's address names its port, which ", options.coordinator, " does not"));
  }
  if (!options.token.empty() && options.token.size() <= kMostTokenBytes) return absl::OkStatus();
  if (!options.token.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("a token has ", kMostTokenBytes, " characters at most"));
  GYRE_ASSIGN_OR_RETURN(const bool is_local, IsLoopback(address.host));
  if (is_local) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "ranks that meet at ", options.coordinator,
      " would be within reach of other machines: give all of them a token (GYRE_TOKEN)"));
}

}  // namespace
}  // namespace gyre::cluster

namespace gyre {

absl::StatusOr<std::shared_ptr<CollectiveGroup>> JoinGroup(const cluster::JoinOptions& options,
                                                           uint64_t* told) {
  *told = options.epoch;
  GYRE_RETURN_IF_ERROR(cluster::Check(options));
  const auto rank = std::make_shared<cluster::Rank>();
  const absl::Status joined = rank->Join(options);
  *told = rank->epoch();
  GYRE_RETURN_IF_ERROR(joined);
  return std::shared_ptr<CollectiveGroup>(rank, rank->group());
}

}  // namespace gyre
