// Mesh: the tensor channels of one process, and the steps whose values travel on them.
//
// No thread of its own moves anything: who waits for a value polls all channels meanwhile, or
// sleeps on all of them, as one of those who wait (the others sleep until it calls them). Who has a
// Mesh calls Tick now and then, so that other processes' pings are answered while nobody waits.
//
// Values wait for Flush, Poll or Wait, of whatever thread, or until many bytes do: who sends calls
// one of them before it does anything that takes long.
//
// Who runs out of memory while it polls, waits or flushes goes on the next time, and is told
// nothing; a peer from which nothing can be taken in at all is lost.
//
// Thread-safe. Its locks are never held while a channel is called that could call back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "cluster/host.h"
#include "cluster/peer.h"
#include "cluster/step_rendezvous.h"
#include "ops/rendezvous.h"

namespace gyre::cluster {

class Mesh final : public Outbox {
 public:
  // Bytes that one process may send another unasked.
  static constexpr int64_t kCreditBytes = int64_t{4} << 20;

  struct Options {
    uint64_t incarnation = 0;  // of this process
    int64_t spin_nanos = 0;
    int64_t failure_nanos = 5'000'000'000;  // who says nothing for so long is gone
    // Who call and have not said who they are: beyond so many, the one that called first is hung up
    // on. Each may take failure_nanos.
    int most_callers = 128;
    // What comes for a step that has not begun here by then is dropped, and the step with it.
    int64_t unbegun_nanos = 60'000'000'000;
  };
  // Called on whatever thread polls, or ticks.
  struct Callbacks {
    std::function<void(const Peer&, const absl::Status& why)> on_lost;  // a peer is gone
    std::function<void(const Peer&, absl::string_view)> on_message;     // it tells something
  };
  // `host` must outlive it.
  Mesh(Host& host, const Options& options, Callbacks callbacks);
  ~Mesh() override;

  // Who may say hello, with which secret; dials them if `dials`, and again whenever their channel
  // is lost. The peer is there once it has answered: see Find.
  absl::Status Expect(uint64_t incarnation, std::string name, const ChannelAddress& address,
                      Transport transport, const std::string& secret, bool dials);
  // Nobody is expected with this secret any more. Channels that there are stay.
  void Withdraw(const std::string& secret);
  // Null: not yet, or no longer.
  PeerPtr Find(uint64_t incarnation);

  void Flush() override;
  // Sends a message of up to Channel::kMaxEagerBytes. It is lost if the peer is.
  void Tell(Peer& peer, absl::string_view message);

  // A step begins: its devices' routes, and who is charged for what it receives. ABORTED when it
  // has ended, or a peer of its routes is gone.
  absl::StatusOr<std::shared_ptr<StepRendezvous>> Begin(uint64_t step,
                                                        std::shared_ptr<const Routes> routes,
                                                        RefPtr<MemoryBudget> budget);
  // What comes for it from now on is dropped.
  void End(uint64_t step);

  // Answers pings, sends some, and gives up peers that say nothing. What it has no memory for is
  // left to the next one.
  void Tick();

  void set_spin_nanos(int64_t nanos) { spin_nanos_.store(nanos, std::memory_order_relaxed); }

  void Poll() override;
  // Some channel has no room for what is to be sent on it.
  bool HasUnsent();
  int64_t spin_nanos() const override { return spin_nanos_.load(std::memory_order_relaxed); }
  uint64_t wakes() const override { return wakes_.load(std::memory_order_seq_cst); }
  void Wait(uint64_t seen, int64_t nanos) override;
  void Wake() override;
  // As Wait, but whoever calls that takes its place.
  void WaitMeanwhile(uint64_t seen, int64_t nanos);
  // Somebody is in Wait.
  bool IsWaitedOn() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  friend class StepRendezvous;
  struct Expected {
    std::string name;
    ChannelAddress address;
    Transport transport = Transport::kAuto;
    bool dials = false;
    std::vector<std::string>
        secrets;  // of each client that has named it, the newest last; not none
  };

  class Sink;
  absl::StatusOr<RefPtr<MemoryBudget>> Expect(Peer& from, const FrameHeader& header);
  void TakeValue(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value);
  void OnValue(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value);
  absl::Status OnHello(const PeerPtr& from, const Hello& hello);

  // As the channel's; who sleeps learns that there is something to write.
  void Send(Peer& to, const FrameHeader& header, Tensor value = Tensor());
  void SendLater(Peer& to, const FrameHeader& header, Tensor value = Tensor());
  void SendEncoded(Peer& to, const FrameHeader& header, absl::string_view body);
  absl::Status Dial(uint64_t incarnation);
  void WaitAs(bool gives_way, uint64_t seen, int64_t nanos);
  void LookAtAll();
  void SleepOnChannels(uint64_t seen, int64_t nanos);
  void AcceptCallers();
  void MakeRoomForCaller();
  void PollChannels();
  void Lose(const PeerPtr& peer, const absl::Status& why);
  std::shared_ptr<StepRendezvous> StepFor(uint64_t id, bool makes);
  const std::shared_ptr<StepRendezvous>& StepFor(Peer& from, uint64_t id, bool makes);
  using PeerList = std::vector<PeerPtr>;
  std::shared_ptr<const PeerList> Everybody() {
    const std::lock_guard lock(mutex_);
    return everybody_;
  }
  void Add(PeerPtr peer);

  Host& host_;
  const Options options_;
  const Callbacks callbacks_;
  std::atomic<int64_t> spin_nanos_;
  std::atomic<uint64_t> wakes_{0};
  std::atomic<bool> sleeps_{false};
  std::atomic<int> waiting_{0};  // who are in Wait
  std::mutex accept_mutex_;      // held by who accepts

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool has_sleeper_ = false;
  bool gives_way_ = false;                 // the sleeper does
  std::map<uint64_t, Expected> expected_;  // by incarnation
  std::map<uint64_t, PeerPtr> peers_;      // by incarnation; those that are known
  // Callers that have not said hello among them. Replaced when it changes.
  std::shared_ptr<const PeerList> everybody_ = std::make_shared<const PeerList>();
  std::map<uint64_t, std::shared_ptr<StepRendezvous>> steps_;
  HashSet<uint64_t> ended_;  // the last steps that ended
  std::deque<uint64_t> ended_order_;
};

}  // namespace gyre::cluster
