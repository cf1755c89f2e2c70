// StepRendezvous: where the values of one step meet, in one of its processes.
//
// Flow: values of up to kMaxEagerBytes are sent at once, as long as no more than kCreditBytes of
// them lie unread at the other end. All others stay where they are, and their key alone is sent;
// who receives that asks for the value once it wants it. So no process holds more than it asked
// for, and no value has to wait behind one that nobody wants yet.
//
// Thread-safe. Its lock is never held while a channel is called that could call back; callbacks of
// receives run without any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "cluster/peer.h"
#include "cluster/wire/frame.h"
#include "ops/rendezvous.h"

namespace gyre::cluster {

class Mesh;

// What a frame weighs at its receiver, in bytes.
int64_t WeightOf(const FrameHeader& frame);

// Made by Mesh::Begin; ends with it.
class StepRendezvous final : public Rendezvous {
 public:
  StepRendezvous(Mesh& mesh, uint64_t id) : mesh_(mesh), id_(id) {}

  absl::Status Send(const TransferEdge& edge, Tag tag, Item item) override;
  void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) override;
  bool TryRecv(const TransferEdge& edge, Tag tag, Item* item) override;
  void Abort(const absl::Status& why) override;
  Outbox* outbox() override;
  // Nothing more will be sent. Waits until the others have taken what stays here until they ask for
  // it, and what has not left yet. The step's error, if it is aborted.
  absl::Status Drain();
  // Others have taken what stayed here until they asked for it, or nobody wants it any more: the
  // step is aborted.
  bool HasDrained();

 private:
  friend class Mesh;
  struct Pull {
    uint64_t bytes = 0;
    RecvCallback done;
  };

  void Arrive(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value);
  void AskFor(uint64_t offer, PeerPtr from, uint64_t bytes, RecvCallback done);
  void Answer(const PeerPtr& from, uint64_t offer);
  // A value from `from` has been received: what it was, or what it offered.
  void Receive(Item item, const PeerPtr& from, RecvCallback done);
  bool HasLeft() const;
  // So much of what `from` has sent has been read, or will never be.
  void GiveBack(const PeerPtr& from, int64_t weight);
  // What `from` has sent and lies in arrived_, once there is room to note it. Taken off it is
  // `weight` at most: how much that was. Requirement: mutex_ is held.
  void MakeRoomForUnread(const PeerPtr& from);
  void AddUnread(const PeerPtr& from, int64_t weight);
  int64_t TakeUnread(const PeerPtr& from, int64_t weight);
  bool Uses(const Peer& peer) const;
  void End();
  void ForgetPeers();

  Mesh& mesh_;
  const uint64_t id_;
  int64_t made_nanos_ = 0;
  std::shared_ptr<const Routes> routes_;  // set by Begin, before anybody sends
  LocalRendezvous own_;                   // between devices of this process

  std::mutex mutex_;  // guards what follows
  RefPtr<MemoryBudget> budget_;
  absl::Status status_;
  bool is_draining_ = false;
  uint64_t next_offer_ = 1;
  HashMap<uint64_t, Tensor> offers_;  // values that others may ask for
  // Values asked for, by peer and offer.
  std::map<std::pair<uint64_t, uint64_t>, Pull> pulls_;
  TransferTable arrived_;  // from others
  // What that weighs, but for what has been received.
  std::vector<std::pair<PeerPtr, int64_t>> unread_;
};

}  // namespace gyre::cluster
