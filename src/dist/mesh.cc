#include "dist/mesh.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dist/wire/tensor_codec.h"

namespace gyre::dist {
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
constexpr size_t kEndedKept = size_t{1} << 14;
// How often a step that is being drained looks whether it is.
constexpr int64_t kDrainLookNanos = 20'000'000;
constexpr int64_t kPingNanos = 1'000'000'000;
// Steps of which something came, but that never began here.
constexpr int64_t kUnbegunNanos = 60'000'000'000;

// Both ends weigh alike.
int64_t WeightOf(const Tensor& value) {
  const bool is_plain = value.has_value() && IsTrivial(value.dtype());
  return kItemWeight + (is_plain ? static_cast<int64_t>(value.bytes()) : 0);
}

// The same of a frame on its way.
int64_t WeightOf(const FrameHeader& frame) {
  const bool is_plain =
      frame.kind == FrameKind::kData && (frame.flags & FrameHeader::kEncoded) == 0;
  const auto dims = static_cast<int64_t>(frame.rank * sizeof(int64_t));
  return kItemWeight + (is_plain && frame.body_bytes > 0 ? frame.body_bytes - dims : 0);
}

// Stands in for a value that is still at its sender.
class Offered final : public Object {
 public:
  Offered(uint64_t number, uint64_t bytes) : number(number), bytes(bytes) {}
  absl::string_view type_name() const override { return "Offered"; }
  const uint64_t number, bytes;
};

absl::Status LostError(absl::string_view name, const absl::Status& why) {
  return absl::UnavailableError(absl::StrCat(name, " is gone: ", why.message()));
}

}  // namespace

// ---- Steps

absl::Status StepRendezvous::Send(const TransferEdge& edge, Tag tag, Item item) {
  const auto route = routes_->find(edge.recv_device);
  if (route == routes_->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no process of the cluster has a device ", edge.recv_device));
  }
  if (route->second == nullptr) return values_.Send(edge, tag, std::move(item));
  Peer& peer = *route->second;
  FrameHeader header;
  header.kind = FrameKind::kData;
  header.step = id_;
  header.key = {edge.id, tag};
  const Tensor& value = item.value;
  if (item.is_dead) {
    header.flags = FrameHeader::kDead;
    peer.credit.fetch_sub(kItemWeight, std::memory_order_relaxed);
    mesh_.SendLater(peer, header);
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
  const int64_t weight = WeightOf(value);
  if (is_small && peer.credit.fetch_sub(weight, std::memory_order_relaxed) > 0) {
    if (is_plain) {
      mesh_.SendLater(peer, header, std::move(item.value));
    } else {
      mesh_.SendEncoded(peer, header, encoded);
    }
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
    return values_.RecvAsync(edge, tag, std::move(done));
  values_.RecvAsync(
      edge, tag,
      [this, from = route->second, done = std::move(done)](absl::StatusOr<Item> item) mutable {
        if (!item.ok()) return done(item.status());
        const auto* offered = item->value.object_as<Offered>();
        GiveBack(from, offered != nullptr ? kItemWeight : WeightOf(item->value));
        if (offered == nullptr) return done(std::move(item));
        AskFor(offered->number, from, offered->bytes, std::move(done));
      });
}

void StepRendezvous::AskFor(uint64_t offer, PeerPtr from, uint64_t bytes, RecvCallback done) {
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    status = status_;
    const std::pair<uint64_t, uint64_t> key(from->incarnation, offer);
    if (status.ok() && pulls_.contains(key))
      status = absl::DataLossError(absl::StrCat(from->name, " has offered two values as one"));
    if (status.ok()) pulls_.emplace(key, Pull{bytes, std::move(done)});
  }
  if (!status.ok()) return done(status);
  FrameHeader header;
  header.kind = FrameKind::kPull;
  header.step = id_;
  header.number = offer;
  mesh_.Send(*from, header);
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
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_) {
      from->owed.fetch_add(weight, std::memory_order_relaxed);
      return;
    }
    unread_[from] += weight;
  }
  if (!value.ok()) {
    GiveBack(from, weight);
    return Abort(value.status());
  }
  Item item{*std::move(value), (header.flags & FrameHeader::kDead) != 0};
  if (header.kind == FrameKind::kOffer) {
    const auto bytes = static_cast<uint64_t>(item.value.scalar<int64_t>());
    item.value = Tensor::FromObject(DType::kVariant, MakeRef<Offered>(header.number, bytes));
  }
  // After an abort, nobody wants it.
  if (!values_.Send(header.key, std::move(item)).ok()) GiveBack(from, weight);
}

void StepRendezvous::GiveBack(const PeerPtr& from, int64_t weight) {
  {
    const std::lock_guard lock(mutex_);
    const auto unread = unread_.find(from);
    if (unread == unread_.end()) return;
    weight = std::min(weight, unread->second);
    unread->second -= weight;
  }
  if (from->owed.fetch_add(weight, std::memory_order_relaxed) + weight < kGiveBackAt) return;
  FrameHeader header;
  header.kind = FrameKind::kCredit;
  header.number = static_cast<uint64_t>(from->owed.exchange(0, std::memory_order_relaxed));
  if (header.number > 0) mesh_.Send(*from, header);
}

void StepRendezvous::Abort(const absl::Status& why) {
  decltype(pulls_) pulls;
  absl::flat_hash_map<uint64_t, Tensor> offers;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    pulls.swap(pulls_);
    offers.swap(offers_);
    wakes = is_draining_;
  }
  if (wakes) mesh_.Wake();
  values_.Abort(why);
  for (auto& [offer, pull] : pulls) pull.done(why);
}

bool StepRendezvous::Uses(const Peer& peer) const {
  if (routes_ == nullptr) return false;
  return absl::c_any_of(*routes_, [&](const auto& route) { return route.second.get() == &peer; });
}

// Nobody sends or receives any more. What was not read is given back.
void StepRendezvous::End() {
  Abort(absl::AbortedError("the step has ended"));
  std::vector<PeerPtr> senders;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    for (const auto& [peer, weight] : unread_) senders.push_back(peer);
  }
  for (const PeerPtr& peer : senders) GiveBack(peer, std::numeric_limits<int64_t>::max());
  ForgetPeers();
}

// They may remember the step for a while, and must not be kept by it.
void StepRendezvous::ForgetPeers() {
  const std::lock_guard lock(mutex_);
  unread_.clear();
  budget_ = nullptr;
  routes_ = nullptr;
}

Courier* StepRendezvous::courier() { return &mesh_; }

bool StepRendezvous::HasLeft() const {
  return absl::c_none_of(*routes_, [](const auto& route) {
    return route.second != nullptr && route.second->channel.HasWaiting();
  });
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

// ---- Mesh

Mesh::Mesh(Host& host, const Options& options, Callbacks callbacks)
    : host_(host),
      options_(options),
      callbacks_(std::move(callbacks)),
      look_out_nanos_(options.look_out_nanos) {}

Mesh::~Mesh() {
  for (const auto& [id, step] : steps_) step->ForgetPeers();
}

absl::Status Mesh::Expect(uint64_t incarnation, std::string name, const ChannelAddress& address,
                          Transport transport, const std::string& secret, bool dials) {
  {
    const std::lock_guard lock(mutex_);
    Expected& expected = expected_[incarnation];
    expected.name = std::move(name);
    expected.address = address;
    expected.transport = transport;
    expected.dials = dials;
    std::erase(expected.secrets, secret);
    expected.secrets.push_back(secret);
  }
  return dials ? Dial(incarnation) : absl::OkStatus();
}

void Mesh::Withdraw(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  for (auto it = expected_.begin(); it != expected_.end();) {
    std::erase(it->second.secrets, secret);
    it = it->second.secrets.empty() ? expected_.erase(it) : std::next(it);
  }
}

// Unless there is a channel, or one is on its way.
absl::Status Mesh::Dial(uint64_t incarnation) {
  Expected expected;
  {
    const std::lock_guard lock(mutex_);
    const auto it = expected_.find(incarnation);
    const bool is_under_way = absl::c_any_of(*everybody_, [&](const PeerPtr& peer) {
      return peer->incarnation.load(std::memory_order_acquire) == incarnation;
    });
    if (is_under_way || it == expected_.end() || !it->second.dials) return absl::OkStatus();
    expected = it->second;
  }
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                        host_.Dial(expected.address, expected.transport));
  auto peer = std::make_shared<Peer>(std::move(stream));
  peer->incarnation.store(incarnation, std::memory_order_release);
  FrameHeader header;
  header.kind = FrameKind::kHello;
  peer->channel.SendEncoded(
      header, EncodeHello({options_.incarnation, incarnation, expected.secrets.back()}));
  Add(std::move(peer));
  return absl::OkStatus();
}

void Mesh::Add(PeerPtr peer) {
  peer->heard_nanos.store(host_.clock().NowNanos(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  PeerList all = *everybody_;
  all.push_back(std::move(peer));
  everybody_ = std::make_shared<const PeerList>(std::move(all));
}

PeerPtr Mesh::Find(uint64_t incarnation) {
  const std::lock_guard lock(mutex_);
  const auto it = peers_.find(incarnation);
  return it == peers_.end() ? nullptr : it->second;
}

void Mesh::Lose(const PeerPtr& peer, const absl::Status& why) {
  bool was_known = false;
  std::vector<std::shared_ptr<StepRendezvous>> steps;
  {
    const std::lock_guard lock(mutex_);
    PeerList left;
    for (const PeerPtr& other : *everybody_) {
      if (other != peer) left.push_back(other);
    }
    if (left.size() == everybody_->size()) return;  // somebody else was first
    everybody_ = std::make_shared<const PeerList>(std::move(left));
    was_known = peer->is_known.exchange(false, std::memory_order_acq_rel);
    if (was_known) {
      peers_.erase(peer->incarnation.load(std::memory_order_relaxed));
      for (const auto& [id, step] : steps_) {
        if (step->Uses(*peer)) steps.push_back(step);
      }
    }
  }
  // Others keep it, as long as their routes do.
  peer->channel.stream().HangUp();
  if (!was_known) return;
  for (const auto& step : steps) step->Abort(LostError(peer->name, why));
  if (callbacks_.on_lost) callbacks_.on_lost(*peer, why);
  // If it is still wanted; Tick tries again.
  (void)Dial(peer->incarnation.load(std::memory_order_relaxed));
}

// ---- Frames

// Hands what one peer's channel receives to the mesh.
class Mesh::Sink final : public FrameSink {
 public:
  Sink(Mesh& mesh, const PeerPtr& from) : mesh_(mesh), from_(from) {}
  absl::StatusOr<RefPtr<MemoryBudget>> Expect(const FrameHeader& header) override {
    return mesh_.Expect(*from_, header);
  }
  void OnValue(const FrameHeader& header, absl::StatusOr<Tensor> value) override {
    if (from_->is_known.load(std::memory_order_relaxed))
      mesh_.OnValue(from_, header, std::move(value));
  }
  void OnMessage(absl::string_view message) override {
    if (from_->is_known.load(std::memory_order_relaxed) && mesh_.callbacks_.on_message)
      mesh_.callbacks_.on_message(*from_, message);
  }
  absl::Status OnHello(const Hello& hello) override { return mesh_.OnHello(from_, hello); }

 private:
  Mesh& mesh_;
  const PeerPtr& from_;
};

absl::StatusOr<RefPtr<MemoryBudget>> Mesh::Expect(Peer& from, const FrameHeader& header) {
  constexpr uint32_t kMaxHello = 512;
  constexpr uint32_t kMaxDims = Shape::kMaxRank * sizeof(int64_t);
  const bool is_known = from.is_known.load(std::memory_order_relaxed);
  if (header.kind == FrameKind::kHello) {
    if (is_known || header.body_bytes > kMaxHello)
      return absl::InvalidArgumentError("a hello at the wrong time");
    return RefPtr<MemoryBudget>();
  }
  if (!is_known) return absl::PermissionDeniedError("a frame before the hello");
  if (header.kind == FrameKind::kMessage) {
    if (header.body_bytes > Channel::kMaxEagerBytes)
      return absl::InvalidArgumentError("a message larger than agreed");
    return RefPtr<MemoryBudget>();
  }
  if (header.kind != FrameKind::kPulled) {
    const bool has_body = header.kind == FrameKind::kData || header.kind == FrameKind::kOffer;
    if (header.body_bytes > (has_body ? Channel::kMaxEagerBytes + kMaxDims : 0))
      return absl::InvalidArgumentError("a frame larger than agreed");
    if (!has_body) return RefPtr<MemoryBudget>();
    const bool is_size = header.dtype == DType::kInt64 && header.rank == 0 && header.flags == 0 &&
                         header.body_bytes == sizeof(int64_t);
    if (header.kind == FrameKind::kOffer && !is_size)
      return absl::InvalidArgumentError("an offer does not say how large it is");
  }
  const std::shared_ptr<StepRendezvous> step = StepFor(from, header.step, false);
  if (step == nullptr && header.kind != FrameKind::kPulled) return RefPtr<MemoryBudget>();
  if (step != nullptr) {
    const std::lock_guard lock(step->mutex_);
    if (header.kind != FrameKind::kPulled) return step->budget_;
    const auto it = step->pulls_.find({from.incarnation, header.number});
    if (it != step->pulls_.end() && header.body_bytes <= it->second.bytes + kMaxDims)
      return step->budget_;
    // Asked for by a step that was told to stop since: taken in, and dropped, in small pieces only.
    if (!step->status_.ok()) return MakeRef<MemoryBudget>(0);
  } else {
    return MakeRef<MemoryBudget>(0);
  }
  return absl::InvalidArgumentError("a value that nobody has asked for");
}

void Mesh::OnValue(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value) {
  switch (header.kind) {
    case FrameKind::kPing: {
      FrameHeader pong;
      pong.kind = FrameKind::kPong;
      return Send(*from, pong);
    }
    case FrameKind::kCredit:
      from->credit.fetch_add(static_cast<int64_t>(std::min<uint64_t>(header.number, kCreditBytes)),
                             std::memory_order_relaxed);
      return;
    case FrameKind::kPull:
      if (const auto step = StepFor(*from, header.step, false)) step->Answer(from, header.number);
      return;
    case FrameKind::kData:
    case FrameKind::kOffer: {
      if (const auto step = StepFor(*from, header.step, true))
        return step->Arrive(from, header, std::move(value));
      // The step has ended: what it did not read is given back here.
      from->owed.fetch_add(WeightOf(header), std::memory_order_relaxed);
      return;
    }
    case FrameKind::kPulled:
      if (const auto step = StepFor(*from, header.step, false))
        step->Arrive(from, header, std::move(value));
      return;
    case FrameKind::kHello:
    case FrameKind::kMessage:
    case FrameKind::kPong:
      return;
  }
}

void Mesh::Tell(Peer& peer, absl::string_view message) {
  FrameHeader header;
  header.kind = FrameKind::kMessage;
  SendEncoded(peer, header, message);
}

void Mesh::Send(Peer& to, const FrameHeader& header, Tensor value) {
  if (to.channel.Send(header, std::move(value))) Wake();
}

void Mesh::SendLater(Peer& to, const FrameHeader& header, Tensor value) {
  if (to.channel.SendLater(header, std::move(value))) Wake();
}

void Mesh::SendEncoded(Peer& to, const FrameHeader& header, absl::string_view body) {
  if (to.channel.SendEncoded(header, body)) Wake();
}

void Mesh::Flush() {
  bool wakes = false;
  for (const PeerPtr& peer : *Everybody()) wakes = peer->channel.Flush() || wakes;
  if (wakes) Wake();
}

// Who was dialled answers with a hello of its own.
absl::Status Mesh::OnHello(const PeerPtr& from, const Hello& hello) {
  bool is_answer = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = expected_.find(hello.from);
    if (it == expected_.end() || !absl::c_linear_search(it->second.secrets, hello.secret) ||
        hello.to != options_.incarnation) {
      return absl::PermissionDeniedError("somebody calls who does not belong to the cluster");
    }
    const uint64_t called = from->incarnation.load(std::memory_order_relaxed);
    is_answer = called == hello.from;
    if (!is_answer && called != 0)
      return absl::PermissionDeniedError("another process answers than was called");
    if (peers_.contains(hello.from))
      return absl::AlreadyExistsError("there is a channel to this process already");
    if (!absl::c_linear_search(*everybody_, from))
      return absl::CancelledError("this channel was given up");
    from->incarnation.store(hello.from, std::memory_order_release);
    from->name = it->second.name;
    from->credit.store(kCreditBytes, std::memory_order_relaxed);
    from->is_known.store(true, std::memory_order_release);
    peers_.emplace(hello.from, from);
  }
  if (!is_answer) {
    FrameHeader header;
    header.kind = FrameKind::kHello;
    from->channel.SendEncoded(header,
                              EncodeHello({options_.incarnation, hello.from, hello.secret}));
  }
  Wake();
  return absl::OkStatus();
}

// ---- Steps of a mesh

// Null once it has ended.
std::shared_ptr<StepRendezvous> Mesh::StepFor(uint64_t id, bool makes) {
  const std::lock_guard lock(mutex_);
  const auto it = steps_.find(id);
  if (it != steps_.end()) return it->second;
  if (!makes || ended_.contains(id)) return nullptr;
  auto step = std::make_shared<StepRendezvous>(*this, id);
  step->made_nanos_ = host_.clock().NowNanos();
  steps_.emplace(id, step);
  return step;
}

std::shared_ptr<StepRendezvous> Mesh::StepFor(Peer& from, uint64_t id, bool makes) {
  if (from.last_step != nullptr && from.last_step->id_ == id) return from.last_step;
  std::shared_ptr<StepRendezvous> step = StepFor(id, makes);
  if (step != nullptr) from.last_step = step;
  return step;
}

absl::StatusOr<std::shared_ptr<StepRendezvous>> Mesh::Begin(uint64_t id,
                                                            std::shared_ptr<const Routes> routes,
                                                            RefPtr<MemoryBudget> budget) {
  const std::shared_ptr<StepRendezvous> step = StepFor(id, true);
  const std::lock_guard lock(mutex_);
  if (step == nullptr || step->routes_ != nullptr)
    return absl::AbortedError(absl::StrCat("step ", id, " has been run already"));
  for (const auto& [device, peer] : *routes) {
    if (peer == nullptr) continue;
    const auto it = peers_.find(peer->incarnation);
    if (it == peers_.end() || it->second != peer)
      return absl::UnavailableError(absl::StrCat("the connection to ", peer->name, " is gone"));
  }
  {
    const std::lock_guard step_lock(step->mutex_);
    step->budget_ = std::move(budget);
  }
  step->routes_ = std::move(routes);
  return step;
}

void Mesh::End(uint64_t id) {
  std::shared_ptr<StepRendezvous> step;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_.insert(id).second) return;
    ended_order_.push_back(id);
    if (ended_order_.size() > kEndedKept) {
      ended_.erase(ended_order_.front());
      ended_order_.pop_front();
    }
    const auto it = steps_.find(id);
    if (it == steps_.end()) return;
    step = it->second;
    steps_.erase(it);
  }
  step->End();
}

// ---- Waiting

void Mesh::AcceptCallers() {
  const std::unique_lock lock(accept_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  while (true) {
    absl::StatusOr<std::unique_ptr<ByteStream>> stream = host_.Accept();
    if (!stream.ok() || *stream == nullptr) return;
    Add(std::make_shared<Peer>(*std::move(stream)));
  }
}

void Mesh::PollChannels() {
  const auto all = Everybody();
  for (const PeerPtr& peer : *all) {
    Sink sink(*this, peer);
    if (absl::Status status = peer->channel.Poll(sink); !status.ok()) Lose(peer, status);
  }
}

void Mesh::Poll() { PollChannels(); }

void Mesh::Wait(uint64_t seen, int64_t nanos) { WaitAs(false, seen, nanos); }
void Mesh::WaitMeanwhile(uint64_t seen, int64_t nanos) { WaitAs(true, seen, nanos); }

void Mesh::WaitAs(bool gives_way, uint64_t seen, int64_t nanos) {
  Flush();
  {
    std::unique_lock lock(mutex_);
    if (wakes_.load(std::memory_order_seq_cst) != seen || nanos <= 0) return;
    if (has_sleeper_) {
      // Who gives way wakes us, and then does something else.
      if (gives_way_ && !gives_way) host_.WakeSleeper();
      return host_.Wait(lock, changed_, nanos);
    }
    has_sleeper_ = true;
    gives_way_ = gives_way;
  }
  const auto all = Everybody();
  std::vector<ByteStream*> streams;
  std::vector<bool> for_write;
  bool may_sleep = true;
  for (const PeerPtr& peer : *all) {
    ByteStream& stream = peer->channel.stream();
    streams.push_back(&stream);
    for_write.push_back(peer->channel.HasWaiting());
    may_sleep = stream.PrepareWait(for_write.back()) && may_sleep;
  }
  sleeps_.store(true, std::memory_order_seq_cst);
  if (may_sleep && wakes_.load(std::memory_order_seq_cst) == seen)
    host_.Sleep(streams, for_write, nanos);
  sleeps_.store(false, std::memory_order_seq_cst);
  for (ByteStream* stream : streams) stream->EndWait();
  AcceptCallers();
  PollChannels();
  const std::lock_guard lock(mutex_);
  has_sleeper_ = false;
  changed_.notify_one();
}

void Mesh::Wake() {
  wakes_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeps_.load(std::memory_order_seq_cst)) host_.WakeSleeper();
  {
    // Who has seen the old count and holds the lock is asleep before we get here.
    const std::lock_guard lock(mutex_);
  }
  changed_.notify_all();
}

void Mesh::Tick() {
  AcceptCallers();
  for (const PeerPtr& peer : *Everybody()) peer->channel.stream().LookAgain();
  PollChannels();
  const int64_t now = host_.clock().NowNanos();
  FrameHeader ping;
  ping.kind = FrameKind::kPing;
  const auto all = Everybody();
  for (const PeerPtr& peer : *all) {
    if (peer->channel.HasHeard()) peer->heard_nanos.store(now, std::memory_order_relaxed);
    const int64_t silent = now - peer->heard_nanos.load(std::memory_order_relaxed);
    if (silent > options_.failure_nanos) {
      Lose(peer, absl::UnavailableError(
                     absl::StrCat("nothing was heard of it for ", silent / 1'000'000, " ms")));
    } else if (silent > kPingNanos && peer->is_known.load(std::memory_order_relaxed)) {
      Send(*peer, ping);
    }
  }
  std::vector<uint64_t> unbegun, missing;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [incarnation, expected] : expected_) {
      if (expected.dials && !peers_.contains(incarnation)) missing.push_back(incarnation);
    }
    for (const auto& [id, step] : steps_) {
      if (step->routes_ == nullptr && now - step->made_nanos_ > kUnbegunNanos)
        unbegun.push_back(id);
    }
  }
  for (const uint64_t incarnation : missing) (void)Dial(incarnation);
  for (const uint64_t id : unbegun) End(id);
}

}  // namespace gyre::dist
