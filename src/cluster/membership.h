// Membership: the client's side of its workers: links and channels to them, who is gone, and which
// part of which step has said what.
//
// Shared by the engine, its executables, and the links' handlers. Thread-safe where nothing else is
// said.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "cluster/again.h"
#include "cluster/cluster.h"
#include "cluster/control_link.h"
#include "cluster/host.h"
#include "cluster/mesh.h"
#include "cluster/messages.h"
#include "cluster/watch/clock_offset.h"
#include "cluster/watch/watched_run.h"
#include "devices/device_name.h"

namespace gyre::cluster {

// One worker, as the client sees it. Guarded by the membership's mutex.
struct Member {
  std::string name;
  std::shared_ptr<ControlLink> link;
  std::optional<proto::HelloReply> hello;
  std::optional<absl::Status> joined;
  absl::Status gone;  // why, once it is
  int64_t heard_nanos = 0;
  uint64_t ping = 0;  // the last one, and when it was sent
  int64_t ping_nanos = 0;
  int64_t answered_nanos = 0;  // when the last one that was answered was sent
  int more_pings = 0;          // to be sent, each upon the answer to the one before
  ClockOffset clock;
};

// A program that is being compiled.
struct Compiling {
  std::vector<std::optional<proto::Compiled>> replies;
};

// A worker's part of a step.
struct Part {
  bool takes_part = false;
  bool is_told = false;  // the worker has been sent its run
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

struct Membership;

// The way from the links' handlers, which live until gRPC is done with them, to a membership and
// its host, which end with the engine. Thread-safe.
class HandlerCalls {
 public:
  explicit HandlerCalls(Membership* membership) : membership_(membership) {}
  // Calls `call` with the membership, unless End was called before.
  template <typename F>
  void Call(F call);
  // Waits for the calls that run; no other begins. Not from within such a call.
  void End(Host& host);

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Membership* membership_;
  int running_ = 0;
};

// The workers, and what is under way on them. Messages come on threads of the links', and on those
// that poll the channels.
struct Membership {
  Membership(Host& h, const ClusterSettings& s)
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
  void Take(int member, absl::string_view bytes);
  void Lose(int member, const absl::Status& why);
  void OnChannelLost(const Peer& peer, const absl::Status& why);
  int MemberOf(const Peer& peer);
  void Tick();
  void LookAtAll();
  // Calls the workers, and makes them call each other: see ConnectCluster.
  absl::Status Connect(const LinkDialer& dial);
  // Waits until `is_so`, a worker is gone, or the failure time has passed. Requirement: lock is
  // held.
  template <typename F>
  absl::Status WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what, F is_so);
  absl::Status AnyGone() const;
  void Fail(uint64_t step, Underway& underway, const absl::Status& why);
  void FailRunsOver(int member, const proto::Lost& lost);
  // A part's message, by the way its run has gone. Requirement: mutex is held.
  void Tell(int member, const Part& part, std::string message);
  // Calls `tell`, which may call the user, for a step under way that is watched, and fails with its
  // error. Without the mutex: it may cancel the run, or wait for who does.
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
  // Where there is no memory to send it, the link is closed.
  void MustSendTo(int member, const proto::ToWorker& message) {
    if (!Again([&] { SendTo(member, message); })) members[member].link->Close();
  }

  Host& host;
  const ClusterSettings settings;
  const std::shared_ptr<HandlerCalls> calls = std::make_shared<HandlerCalls>(this);
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
  HashMap<uint64_t, Compiling> compiling;
  std::map<uint64_t, Underway*> steps;
};

}  // namespace gyre::cluster
