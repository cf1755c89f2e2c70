#include "cluster/step_rendezvous.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "cluster/mesh.h"
#include "cluster/wire/tensor_codec.h"

namespace gyre::cluster {
namespace {

// Encoded values larger than this are asked for.
constexpr size_t kMaxEagerEncoded = size_t{1} << 12;
// What a value weighs beside its elements; all that a value weighs whose elements are no plain
// bytes, or that is asked for.
constexpr int64_t kItemWeight = 64;
constexpr int64_t kGiveBackAt = Mesh::kCreditBytes / 4;
// What a frame has room for, with the most dimensions that there are.
constexpr uint64_t kMaxBytes =
    std::numeric_limits<uint32_t>::max() - Shape::kMaxRank * sizeof(int64_t);
// What there was no memory for.
constexpr absl::string_view kThisValue = "a value from another process";
// How often a step that is being drained looks whether it is.
constexpr int64_t kDrainLookNanos = 20'000'000;

// Both ends weigh alike.
int64_t WeightOf(const Rendezvous::Item& item) {
  const Tensor& value = item.value;
  const bool is_plain = value.has_value() && IsTrivial(value.dtype());
  return kItemWeight + (is_plain ? static_cast<int64_t>(value.bytes()) : 0);
}

// Stands in for a value that is still at its sender.
class Offered final : public Object {
 public:
  Offered(uint64_t number, uint64_t bytes) : number(number), bytes(bytes) {}
  absl::string_view type_name() const override { return "Offered"; }
  const uint64_t number, bytes;
};

bool IsWhole(const Rendezvous::Item& item) { return item.value.object_as<Offered>() == nullptr; }

}  // namespace

int64_t WeightOf(const FrameHeader& frame) {
  const bool is_plain =
      frame.kind == FrameKind::kData && (frame.flags & FrameHeader::kEncoded) == 0;
  const auto dims = static_cast<int64_t>(frame.rank * sizeof(int64_t));
  return kItemWeight + (is_plain && frame.body_bytes > 0 ? frame.body_bytes - dims : 0);
}

absl::Status StepRendezvous::Send(const TransferEdge& edge, Tag tag, Item item) {
  const auto route = routes_->find(edge.recv_device);
  if (route == routes_->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no process of the cluster has a device ", edge.recv_device));
  }
  if (route->second == nullptr) return own_.Send(edge, tag, std::move(item));
  Peer& peer = *route->second;
  FrameHeader header;
  header.kind = FrameKind::kData;
  header.step = id_;
  header.key = {edge.id, tag};
  const Tensor& value = item.value;
  if (item.is_dead) {
    header.flags = FrameHeader::kDead;
    mesh_.SendLater(peer, header);
    peer.credit.fetch_sub(kItemWeight, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  std::string encoded;
  const bool is_plain = IsTrivial(value.dtype()) && !value.is_ref();
  if (!is_plain) GYRE_RETURN_IF_ERROR(EncodeTensor(value, encoded));
  const uint64_t bytes = is_plain ? value.bytes() : encoded.size();
  if (bytes > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(edge.tensor_name, " holds ", bytes, " bytes; ", kMaxBytes,
                     " are the most that can travel from one process to another"));
  }
  const bool is_small =
      is_plain ? value.bytes() <= Channel::kMaxEagerBytes : encoded.size() <= kMaxEagerEncoded;
  const int64_t weight = WeightOf(item);
  if (is_small && peer.credit.fetch_sub(weight, std::memory_order_relaxed) > 0) {
    absl::Cleanup give_back = [&] { peer.credit.fetch_add(weight, std::memory_order_relaxed); };
    if (is_plain) {
      mesh_.SendLater(peer, header, std::move(item.value));
    } else {
      mesh_.SendEncoded(peer, header, encoded);
    }
    std::move(give_back).Cancel();
    return absl::OkStatus();
  }
  peer.credit.fetch_add((is_small ? weight : 0) - kItemWeight, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    header.number = next_offer_++;
    offers_.emplace(header.number, std::move(item.value));
  }
  header.kind = FrameKind::kOffer;
  mesh_.Send(peer, header, Tensor::Scalar(static_cast<int64_t>(bytes)));
  return absl::OkStatus();
}

void StepRendezvous::RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) {
  const auto route = routes_->find(edge.send_device);
  if (route == routes_->end() || route->second == nullptr)
    return own_.RecvAsync(edge, tag, std::move(done));
  const PeerPtr& from = route->second;
  const TransferKey key = {edge.id, tag};
  absl::Status status;
  Item item;
  int64_t weight = 0;
  {
    const std::lock_guard lock(mutex_);
    status = status_;
    if (status.ok()) {
      if (!arrived_.TakeItem(key, &item)) return arrived_.AddWaiter(key, std::move(done));
      weight = TakeUnread(from, WeightOf(item));
    }
  }
  if (!status.ok()) return done(status);
  GiveBack(from, weight);
  Receive(std::move(item), from, std::move(done));
}

bool StepRendezvous::TryRecv(const TransferEdge& edge, Tag tag, Item* item) {
  const auto route = routes_->find(edge.send_device);
  if (route == routes_->end() || route->second == nullptr) return own_.TryRecv(edge, tag, item);
  int64_t weight = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!arrived_.TakeItem({edge.id, tag}, item, IsWhole)) return false;
    weight = TakeUnread(route->second, WeightOf(*item));
  }
  GiveBack(route->second, weight);
  return true;
}

void StepRendezvous::Receive(Item item, const PeerPtr& from, RecvCallback done) {
  const auto* offered = item.value.object_as<Offered>();
  if (offered == nullptr) return done(std::move(item));
  AskFor(offered->number, from, offered->bytes, std::move(done));
}

void StepRendezvous::AskFor(uint64_t offer, PeerPtr from, uint64_t bytes, RecvCallback done) {
  const std::pair<uint64_t, uint64_t> key(from->incarnation, offer);
  absl::Status status = CatchOutOfMemory(kThisValue, [&]() -> absl::Status {
    const std::lock_guard lock(mutex_);
    GYRE_RETURN_IF_ERROR(status_);
    const auto [it, is_new] = pulls_.try_emplace(key);
    if (!is_new)
      return absl::DataLossError(absl::StrCat(from->name, " has offered two values as one"));
    it->second = {bytes, std::move(done)};
    return absl::OkStatus();
  });
  if (!status.ok()) return done(status);
  FrameHeader header;
  header.kind = FrameKind::kPull;
  header.step = id_;
  header.number = offer;
  status = CatchOutOfMemory(kThisValue, [&] {
    mesh_.Send(*from, header);
    return absl::OkStatus();
  });
  if (!status.ok()) Abort(status);  // which tells who waits
}

void StepRendezvous::Answer(const PeerPtr& from, uint64_t offer) {
  Tensor value;
  {
    const std::lock_guard lock(mutex_);
    const auto it = offers_.find(offer);
    if (it == offers_.end() || !it->second.has_value()) return;
    value = std::move(it->second);
  }
  FrameHeader header;
  header.kind = FrameKind::kPulled;
  header.step = id_;
  header.number = offer;
  std::string encoded;
  if (IsTrivial(value.dtype())) {
    mesh_.Send(*from, header, std::move(value));
  } else if (EncodeTensor(value, encoded).ok()) {
    // It could be encoded when it was offered, and is what it was.
    mesh_.SendEncoded(*from, header, encoded);
  }
  // Not before: an offer that is gone has left, or waits in the channel.
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    offers_.erase(offer);
    wakes = is_draining_;
  }
  if (wakes) mesh_.Wake();
}

void StepRendezvous::Arrive(const PeerPtr& from, const FrameHeader& header,
                            absl::StatusOr<Tensor> value) {
  if (header.kind == FrameKind::kPulled) {
    if (!value.ok()) return Abort(value.status());
    RecvCallback done;
    {
      const std::lock_guard lock(mutex_);
      const auto it = pulls_.find({from->incarnation, header.number});
      if (it == pulls_.end()) return;
      done = std::move(it->second.done);
      pulls_.erase(it);
    }
    return done(Item{*std::move(value), false});
  }
  const int64_t weight = WeightOf(header);
  Item item;
  RecvCallback waiter;
  const absl::StatusOr<bool> is_kept = CatchOutOfMemory(kThisValue, [&]() -> absl::StatusOr<bool> {
    GYRE_ASSIGN_OR_RETURN(item.value, std::move(value));
    item.is_dead = (header.flags & FrameHeader::kDead) != 0;
    if (header.kind == FrameKind::kOffer) {
      const auto bytes = static_cast<uint64_t>(item.value.scalar<int64_t>());
      item.value = Tensor::FromObject(DType::kVariant, MakeRef<Offered>(header.number, bytes));
    }
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return false;  // after an abort, nobody wants it
    waiter = arrived_.TakeWaiter(header.key);
    if (waiter != nullptr) return false;
    MakeRoomForUnread(from);
    arrived_.AddItem(header.key, std::move(item));
    AddUnread(from, weight);
    return true;
  });
  if (is_kept.ok() && *is_kept) return;
  GiveBack(from, weight);
  if (!is_kept.ok()) return Abort(is_kept.status());
  if (waiter != nullptr) Receive(std::move(item), from, std::move(waiter));
}

void StepRendezvous::MakeRoomForUnread(const PeerPtr& from) {
  const bool is_there = absl::c_any_of(unread_, [&](const auto& of) { return of.first == from; });
  if (!is_there) unread_.emplace_back(from, 0);
}

void StepRendezvous::AddUnread(const PeerPtr& from, int64_t weight) {
  const auto it = absl::c_find_if(unread_, [&](const auto& of) { return of.first == from; });
  if (it != unread_.end()) it->second += weight;
}

int64_t StepRendezvous::TakeUnread(const PeerPtr& from, int64_t weight) {
  const auto it = absl::c_find_if(unread_, [&](const auto& of) { return of.first == from; });
  if (it == unread_.end()) return 0;
  weight = std::min(weight, it->second);
  it->second -= weight;
  return weight;
}

void StepRendezvous::GiveBack(const PeerPtr& from, int64_t weight) {
  if (from->owed.fetch_add(weight, std::memory_order_relaxed) + weight < kGiveBackAt) return;
  FrameHeader header;
  header.kind = FrameKind::kCredit;
  header.number = static_cast<uint64_t>(from->owed.exchange(0, std::memory_order_relaxed));
  if (header.number == 0) return;
  const absl::Status status = CatchOutOfMemory("credit", [&] {
    mesh_.Send(*from, header);
    return absl::OkStatus();
  });
  // It goes with what is given back next.
  if (!status.ok())
    from->owed.fetch_add(static_cast<int64_t>(header.number), std::memory_order_relaxed);
}

void StepRendezvous::Abort(const absl::Status& why) {
  decltype(pulls_) pulls;
  std::vector<RecvCallback> waiters;
  HashMap<uint64_t, Tensor> offers;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    pulls.swap(pulls_);
    offers.swap(offers_);
    waiters = arrived_.Clear();
    wakes = is_draining_;
  }
  if (wakes) mesh_.Wake();
  own_.Abort(why);
  for (const RecvCallback& waiter : waiters) waiter(why);
  for (auto& [offer, pull] : pulls) pull.done(why);
}

bool StepRendezvous::Uses(const Peer& peer) const {
  if (routes_ == nullptr) return false;
  return absl::c_any_of(*routes_, [&](const auto& route) { return route.second.get() == &peer; });
}

// Nobody sends or receives any more. What was not read is given back.
void StepRendezvous::End() {
  Abort(CatchOutOfMemory("the end of a step",
                         [] { return absl::AbortedError("the step has ended"); }));
  std::vector<std::pair<PeerPtr, int64_t>> unread;
  {
    const std::lock_guard lock(mutex_);
    unread.swap(unread_);
  }
  for (const auto& [peer, weight] : unread) GiveBack(peer, weight);
  ForgetPeers();
}

// They may remember the step for a while, and must not be kept by it.
void StepRendezvous::ForgetPeers() {
  const std::lock_guard lock(mutex_);
  unread_.clear();
  budget_ = nullptr;
  routes_ = nullptr;
}

Outbox* StepRendezvous::outbox() { return &mesh_; }

bool StepRendezvous::HasLeft() const {
  return absl::c_none_of(*routes_, [](const auto& route) {
    return route.second != nullptr && route.second->channel.HasWaiting();
  });
}

bool StepRendezvous::HasDrained() {
  const std::lock_guard lock(mutex_);
  return !status_.ok() || offers_.empty();
}

absl::Status StepRendezvous::Drain() {
  mesh_.Flush();
  while (true) {
    const uint64_t seen = mesh_.wakes();
    {
      const std::lock_guard lock(mutex_);
      if (!status_.ok()) return status_;
      if (offers_.empty() && HasLeft()) return absl::OkStatus();
      is_draining_ = true;
    }
    mesh_.Wait(seen, kDrainLookNanos);
  }
}

}  // namespace gyre::cluster
