// Mesh: the tensor channels of one process, and the steps whose values travel on them.
//
// No thread of its own moves anything: who waits for a value polls all channels meanwhile, or
// sleeps on all of them, as one of those who wait (the others sleep until it calls them). Who has a
// Mesh calls Tick now and then, so that other processes' pings are answered while nobody waits.
//
// Flow: values of up to kMaxEagerBytes are sent at once, as long as no more than kCreditBytes of
// them lie unread at the other end. All others stay where they are, and their key alone is sent;
// who receives that asks for the value once it wants it. So no process holds more than it asked
// for, and no value has to wait behind one that nobody wants yet.
//
// Values wait for Flush, Poll or Wait, of whatever thread, or until many bytes do: who sends calls
// one of them before it does anything that takes long.
//
// Thread-safe. Locks: a step's or the mesh's are never held while a channel is called that could
// call back; callbacks of receives run without any.
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

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "dist/channel.h"
#include "dist/host.h"
#include "ops/rendezvous.h"

namespace gyre::dist {

class Mesh;
class StepRendezvous;

// Another process that this one has a channel to, or that calls or is called.
struct Peer {
  explicit Peer(std::unique_ptr<ByteStream> stream) : channel(std::move(stream)) {}

  Channel channel;
  // Who it is: once it has said hello, or of whom was called.
  std::atomic<uint64_t> incarnation{0};
  // It has said hello, and is not lost. Set once `name` is there.
  std::atomic<bool> is_known{false};
  std::string name;                     // for people: "worker 1 (127.0.0.1:4002)"
  std::atomic<int64_t> credit{0};       // bytes that may still be sent unasked
  std::atomic<int64_t> owed{0};         // bytes read whose credit has not been given back
  std::atomic<int64_t> heard_nanos{0};  // when something came last: see Tick
  // Of the thread that reads: the step that the last value was for. It may have ended.
  std::shared_ptr<StepRendezvous> last_step;
};
using PeerPtr = std::shared_ptr<Peer>;
struct ByIncarnation {
  bool operator()(const PeerPtr& a, const PeerPtr& b) const {
    return a->incarnation < b->incarnation;
  }
};

// By device: the peer that has it; null: this process.
using Routes = std::map<std::string, PeerPtr, std::less<>>;

// Where the values of one step meet. Made by Mesh::Begin; ends with it.
class StepRendezvous final : public Rendezvous {
 public:
  StepRendezvous(Mesh& mesh, uint64_t id) : mesh_(mesh), id_(id) {}

  absl::Status Send(const TransferEdge& edge, Tag tag, Item item) override;
  void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) override;
  void Abort(const absl::Status& why) override;
  Courier* courier() override;
  // Nothing more will be sent. Waits until the others have taken what stays here until they ask for
  // it, and what has not left yet. The step's error, if it is aborted.
  absl::Status Drain();

 private:
  friend class Mesh;
  struct Pull {
    uint64_t bytes = 0;
    RecvCallback done;
  };

  void Arrive(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value);
  void AskFor(uint64_t offer, PeerPtr from, uint64_t bytes, RecvCallback done);
  void Answer(const PeerPtr& from, uint64_t offer);
  bool HasLeft() const;
  // A value from `from` has been read, or will never be.
  void GiveBack(const PeerPtr& from, int64_t weight);
  bool Uses(const Peer& peer) const;
  void End();
  void ForgetPeers();

  Mesh& mesh_;
  const uint64_t id_;
  int64_t made_nanos_ = 0;
  std::shared_ptr<const Routes> routes_;  // set by Begin, before anybody sends
  LocalRendezvous values_;

  std::mutex mutex_;  // guards what follows
  RefPtr<MemoryBudget> budget_;
  absl::Status status_;
  bool is_draining_ = false;
  bool has_ended_ = false;
  uint64_t next_offer_ = 1;
  absl::flat_hash_map<uint64_t, Tensor> offers_;  // values that others may ask for
  // Values asked for, by peer and offer.
  std::map<std::pair<uint64_t, uint64_t>, Pull> pulls_;
  // The weight of what waits here.
  std::map<PeerPtr, int64_t, ByIncarnation> unread_;
};

class Mesh final : public Courier {
 public:
  // Bytes that one process may send another unasked.
  static constexpr int64_t kCreditBytes = int64_t{4} << 20;

  struct Options {
    uint64_t incarnation = 0;  // of this process
    int64_t look_out_nanos = 0;
    int64_t failure_nanos = 5'000'000'000;  // who says nothing for so long is gone
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

  // Answers pings, sends some, and gives up peers that say nothing.
  void Tick();

  void set_look_out_nanos(int64_t nanos) {
    look_out_nanos_.store(nanos, std::memory_order_relaxed);
  }

  void Poll() override;
  int64_t look_out_nanos() const override {
    return look_out_nanos_.load(std::memory_order_relaxed);
  }
  uint64_t wakes() const override { return wakes_.load(std::memory_order_seq_cst); }
  void Wait(uint64_t seen, int64_t nanos) override;
  void Wake() override;
  // As Wait, but whoever calls that takes its place.
  void WaitMeanwhile(uint64_t seen, int64_t nanos);

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
  void OnValue(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value);
  absl::Status OnHello(const PeerPtr& from, const Hello& hello);

  // As the channel's; who sleeps learns that there is something to write.
  void Send(Peer& to, const FrameHeader& header, Tensor value = Tensor());
  void SendLater(Peer& to, const FrameHeader& header, Tensor value = Tensor());
  void SendEncoded(Peer& to, const FrameHeader& header, absl::string_view body);
  absl::Status Dial(uint64_t incarnation);
  void WaitAs(bool gives_way, uint64_t seen, int64_t nanos);
  void AcceptCallers();
  void PollChannels();
  void Lose(const PeerPtr& peer, const absl::Status& why);
  std::shared_ptr<StepRendezvous> StepFor(uint64_t id, bool makes);
  std::shared_ptr<StepRendezvous> StepFor(Peer& from, uint64_t id, bool makes);
  using PeerList = std::vector<PeerPtr>;
  std::shared_ptr<const PeerList> Everybody() {
    const std::lock_guard lock(mutex_);
    return everybody_;
  }
  void Add(PeerPtr peer);

  Host& host_;
  const Options options_;
  const Callbacks callbacks_;
  std::atomic<int64_t> look_out_nanos_;
  std::atomic<uint64_t> wakes_{0};
  std::atomic<bool> sleeps_{false};
  std::mutex accept_mutex_;  // held by who accepts

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool has_sleeper_ = false;
  bool gives_way_ = false;                 // the sleeper does
  std::map<uint64_t, Expected> expected_;  // by incarnation
  std::map<uint64_t, PeerPtr> peers_;      // by incarnation; those that are known
  // Callers that have not said hello among them. Replaced when it changes.
  std::shared_ptr<const PeerList> everybody_ = std::make_shared<const PeerList>();
  std::map<uint64_t, std::shared_ptr<StepRendezvous>> steps_;
  absl::flat_hash_set<uint64_t> ended_;  // the last steps that ended
  std::deque<uint64_t> ended_order_;
};

}  // namespace gyre::dist
