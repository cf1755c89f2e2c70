#include "cluster/mesh.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "cluster/again.h"
#include "cluster/secret.h"

namespace gyre::cluster {
namespace {

constexpr size_t kEndedKept = size_t{1} << 14;
constexpr int64_t kPingNanos = 1'000'000'000;

// How often in a row it may be without memory for what a peer sends, before the peer is lost.
constexpr int kMostFailedPolls = 8;

absl::Status LostError(absl::string_view name, const absl::Status& why) {
  return CatchOutOfMemory("the end of a connection", [&] {
    const bool is_ours = absl::IsResourceExhausted(why);
    return absl::Status(
        is_ours ? why.code() : absl::StatusCode::kUnavailable,
        absl::StrCat(name, is_ours ? " is given up: " : " is gone: ", why.message()));
  });
}

// Whether a frame's value needs no memory beside its Tensor.
bool IsScalar(const FrameHeader& header) {
  return header.rank == 0 && IsTrivial(header.dtype) && (header.flags & FrameHeader::kEncoded) == 0;
}

}  // namespace

Mesh::Mesh(Host& host, const Options& options, Callbacks callbacks)
    : host_(host),
      options_(options),
      callbacks_(std::move(callbacks)),
      spin_nanos_(options.spin_nanos) {}

Mesh::~Mesh() {
  for (const auto& [id, step] : steps_) step->ForgetPeers();
}

absl::Status Mesh::Expect(uint64_t incarnation, std::string name, const ChannelAddress& address,
                          Transport transport, const std::string& secret, bool dials) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = expected_.find(incarnation);
    Expected expected{std::move(name), address, transport, dials, {}};
    if (it != expected_.end()) expected.secrets = it->second.secrets;
    std::erase(expected.secrets, secret);
    expected.secrets.push_back(secret);
    expected_.insert_or_assign(incarnation, std::move(expected));
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
  peer->since_nanos = host_.clock().NowNanos();
  peer->heard_nanos.store(peer->since_nanos, std::memory_order_relaxed);
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
    for (const auto& [id, step] : steps_) {
      if (step->Uses(*peer) && !peer->leaves.load(std::memory_order_relaxed)) steps.push_back(step);
    }
    everybody_ = std::make_shared<const PeerList>(std::move(left));
    // From here on nothing fails.
    was_known = peer->is_known.exchange(false, std::memory_order_acq_rel);
    if (was_known) peers_.erase(peer->incarnation.load(std::memory_order_relaxed));
  }
  // Others keep it, as long as their routes do.
  peer->channel.stream().HangUp();
  if (!was_known) return;
  for (const auto& step : steps) step->Abort(LostError(peer->name, why));
  if (callbacks_.on_lost) callbacks_.on_lost(*peer, why);
  // If it is still wanted; Tick tries again.
  const uint64_t incarnation = peer->incarnation.load(std::memory_order_relaxed);
  CatchOutOfMemory("a connection", [&] { return Dial(incarnation); }).IgnoreError();
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
      mesh_.TakeValue(from_, header, std::move(value));
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
    // The step is there before its first value is: a value that is lost can be told to it.
    StepFor(from, header.step, true);
    if (IsScalar(header)) return RefPtr<MemoryBudget>();
  }
  const std::shared_ptr<StepRendezvous>& step = StepFor(from, header.step, false);
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

// A value for which there is no memory is its step's error.
void Mesh::TakeValue(const PeerPtr& from, const FrameHeader& header, absl::StatusOr<Tensor> value) {
  const absl::Status status = CatchOutOfMemory("a value from another process", [&] {
    OnValue(from, header, std::move(value));
    return absl::OkStatus();
  });
  if (status.ok()) return;
  if (const auto& step = StepFor(*from, header.step, false)) step->Abort(status);
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
      if (const auto& step = StepFor(*from, header.step, false)) step->Answer(from, header.number);
      return;
    case FrameKind::kData:
    case FrameKind::kOffer: {
      if (const auto& step = StepFor(*from, header.step, false))
        return step->Arrive(from, header, std::move(value));
      // The step has ended: what it did not read is given back here.
      from->owed.fetch_add(WeightOf(header), std::memory_order_relaxed);
      return;
    }
    case FrameKind::kPulled:
      if (const auto& step = StepFor(*from, header.step, false))
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
  for (const auto all = Everybody(); const PeerPtr& peer : *all)
    wakes = peer->channel.Flush() || wakes;
  if (wakes) Wake();
}

// Who was dialled answers with a hello of its own.
absl::Status Mesh::OnHello(const PeerPtr& from, const Hello& hello) {
  bool is_answer = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = expected_.find(hello.from);
    int matches = 0;  // all are compared: time does not tell which one does
    if (it != expected_.end()) {
      for (const std::string& secret : it->second.secrets)
        matches += IsSameSecret(secret, hello.secret) ? 1 : 0;
    }
    if (matches == 0 || hello.to != options_.incarnation) {
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
    from->name = it->second.name;
    peers_.emplace(hello.from, from);
    from->incarnation.store(hello.from, std::memory_order_release);
    from->credit.store(kCreditBytes, std::memory_order_relaxed);
    from->is_known.store(true, std::memory_order_release);
  }
  if (!is_answer) {
    FrameHeader header;
    header.kind = FrameKind::kHello;
    // Without an answer, who called gives up, and calls again.
    const bool has_answered = Again([&] {
      from->channel.SendEncoded(header,
                                EncodeHello({options_.incarnation, hello.from, hello.secret}));
    });
    if (!has_answered) return OutOfMemoryError("the answer to a call");
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

const std::shared_ptr<StepRendezvous>& Mesh::StepFor(Peer& from, uint64_t id, bool makes) {
  static const auto& nothing = *new std::shared_ptr<StepRendezvous>;
  if (from.last_step == nullptr || from.last_step->id_ != id) {
    std::shared_ptr<StepRendezvous> step = StepFor(id, makes);
    if (step == nullptr) return nothing;
    from.last_step = std::move(step);
  }
  return from.last_step;
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
    bool has_ended = false;
    // Where it cannot be noted, what comes late for it is kept for a while, and dropped then.
    CatchOutOfMemory("the end of a step", [&] {
      ended_order_.push_back(id);
      absl::Cleanup forget = [&] { ended_order_.pop_back(); };
      has_ended = !ended_.insert(id).second;
      if (!has_ended) std::move(forget).Cancel();
      return absl::OkStatus();
    }).IgnoreError();
    if (has_ended) return;
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
  // Who calls has to wait if many do: there are steps to run.
  for (int i = 0; i < options_.most_callers; ++i) {
    bool was_there = false;
    // Who cannot be taken in is hung up on, and calls again.
    CatchOutOfMemory("a caller", [&] {
      std::unique_ptr<ByteStream> stream = host_.Accept();
      was_there = stream != nullptr;
      if (!was_there) return absl::OkStatus();
      MakeRoomForCaller();
      Add(std::make_shared<Peer>(std::move(stream)));
      return absl::OkStatus();
    }).IgnoreError();
    if (!was_there) return;
  }
}

void Mesh::MakeRoomForCaller() {
  const auto all = Everybody();
  PeerPtr first;
  int callers = 0;
  for (const PeerPtr& peer : *all) {
    if (peer->incarnation.load(std::memory_order_acquire) != 0) continue;
    if (callers++ == 0) first = peer;
  }
  if (callers >= options_.most_callers) Lose(first, absl::ResourceExhaustedError("others call"));
}

void Mesh::PollChannels() {
  const auto all = Everybody();
  for (const PeerPtr& peer : *all) {
    Sink sink(*this, peer);
    CatchOutOfMemory("what another process has sent", [&] {
      absl::Status status;
      try {
        status = peer->channel.Poll(sink);
        peer->failed_polls.store(0, std::memory_order_relaxed);
      } catch (const std::bad_alloc&) {
        if (peer->failed_polls.fetch_add(1, std::memory_order_relaxed) < kMostFailedPolls)
          return absl::OkStatus();  // the next one goes on there
        status = OutOfMemoryError("what it has sent");
      }
      if (!status.ok()) Lose(peer, status);
      return absl::OkStatus();
    }).IgnoreError();
  }
}

void Mesh::Poll() { PollChannels(); }

bool Mesh::HasUnsent() {
  const auto all = Everybody();
  return absl::c_any_of(*all, [](const PeerPtr& peer) { return peer->channel.HasWaiting(); });
}

void Mesh::Wait(uint64_t seen, int64_t nanos) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  WaitAs(false, seen, nanos);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}
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
  // Without the memory to sleep, it looks again at once.
  CatchOutOfMemory("who waits for channels", [&] {
    SleepOnChannels(seen, nanos);
    return absl::OkStatus();
  }).IgnoreError();
  AcceptCallers();
  PollChannels();
  const std::lock_guard lock(mutex_);
  has_sleeper_ = false;
  changed_.notify_one();
}

void Mesh::SleepOnChannels(uint64_t seen, int64_t nanos) {
  const auto all = Everybody();
  std::vector<ByteStream*> streams;
  std::vector<bool> for_write;
  streams.reserve(all->size());
  for_write.reserve(all->size());
  bool may_sleep = true;
  for (const PeerPtr& peer : *all) {
    ByteStream& stream = peer->channel.stream();
    streams.push_back(&stream);
    for_write.push_back(peer->channel.HasWaiting());
    may_sleep = stream.PrepareWait(for_write.back()) && may_sleep;
  }
  const absl::Cleanup end = [&] {
    sleeps_.store(false, std::memory_order_seq_cst);
    for (ByteStream* stream : streams) stream->EndWait();
  };
  sleeps_.store(true, std::memory_order_seq_cst);
  if (may_sleep && wakes_.load(std::memory_order_seq_cst) == seen)
    host_.Sleep(streams, for_write, nanos);
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
  CatchOutOfMemory("a look at all channels", [&] {
    LookAtAll();
    return absl::OkStatus();
  }).IgnoreError();
}

void Mesh::LookAtAll() {
  AcceptCallers();
  for (const auto all = Everybody(); const PeerPtr& peer : *all) peer->channel.stream().LookAgain();
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
    } else if (now - peer->since_nanos > options_.failure_nanos &&
               !peer->is_known.load(std::memory_order_relaxed)) {
      Lose(peer, absl::UnavailableError("it has not said who it is"));
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
      if (step->routes_ == nullptr && now - step->made_nanos_ > options_.unbegun_nanos)
        unbegun.push_back(id);
    }
  }
  for (const uint64_t incarnation : missing) (void)Dial(incarnation);
  for (const uint64_t id : unbegun) End(id);
}

}  // namespace gyre::cluster
