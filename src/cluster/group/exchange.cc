#include "cluster/group/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ops/collective/combine.h"

namespace gyre::cluster {
namespace {

constexpr absl::string_view kThisCollective = "a collective";
constexpr size_t kMostName = 256;  // of a node's, for the others

std::string PlaceOf(Collective::Kind kind, absl::string_view node, int64_t iteration) {
  std::string place = absl::StrCat("node ", node, " (", NameOf(kind), ")");
  if (iteration > 0) absl::StrAppend(&place, ", iteration ", iteration);
  return place;
}

std::string TypeOf(DType dtype, absl::Span<const int64_t> dims) {
  return absl::StrCat(DTypeName(dtype), " [", absl::StrJoin(dims, ", "), "]");
}

absl::string_view MergeName(MergeOp merge) {
  constexpr absl::string_view kNames[] = {"sum", "product", "minimum", "maximum"};
  return kNames[static_cast<size_t>(merge)];
}

}  // namespace

RankWays::RankWays(int own, std::vector<std::string> all) : rank(own), names(std::move(all)) {
  const std::string here = DeviceOf(rank);
  for (int other = 0; other < size(); ++other) {
    const std::string there = DeviceOf(other);
    to.push_back({{"contribution", here, there, 0}, {"piece", here, there, 0}});
    from.push_back({{"contribution", there, here, 0}, {"piece", there, here, 0}});
  }
}

Tag Exchange::TagOf(Tag at, int32_t group_key, int32_t instance_key) {
  uint64_t x = at.frame ^ ((static_cast<uint64_t>(static_cast<uint32_t>(group_key)) << 32 |
                            static_cast<uint32_t>(instance_key)) *
                           0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return {x ^ (x >> 31), at.iteration};
}

Exchange::Exchange(Settings settings, const KernelContext& ctx, Collective collective,
                   CollectiveGroup::Done done)
    : settings_(std::move(settings)),
      collective_(std::move(collective)),
      has_input_(collective_.input.has_value()),
      shape_(has_input_ ? collective_.input.shape() : collective_.shape),
      node_(ctx.node().name.substr(0, kMostName)),
      tag_(ctx.tag()),
      alloc_(ctx.alloc()),
      budget_(RefPtr<MemoryBudget>::Share(ctx.env().budget)),
      members_(collective_.members),
      done_(std::move(done)) {
  if (members_.empty()) {
    members_.resize(static_cast<size_t>(settings_.ways->size()));
    std::iota(members_.begin(), members_.end(), 0);
  }
  const auto self = std::find(members_.begin(), members_.end(), settings_.ways->rank);
  self_ = self == members_.end() ? -1 : static_cast<int>(self - members_.begin());
  if (collective_.input.has_value()) input_bytes_ = static_cast<int64_t>(collective_.input.bytes());
}

bool Exchange::Merges() const {
  return collective_.kind == Collective::Kind::kReduce ||
         collective_.kind == Collective::Kind::kReduceScatter;
}

bool Exchange::IsSplit() const {
  return collective_.kind == Collective::Kind::kReduce && !SendsWhole();
}

bool Exchange::SendsWhole() const {
  switch (collective_.kind) {
    case Collective::Kind::kReduce:
      return input_bytes_ <= kWholeBytes;
    case Collective::Kind::kReduceScatter:
    case Collective::Kind::kAllToAll:
      return false;
    default:
      return true;
  }
}

Exchange::Range Exchange::PartOf(int part) const {
  const int64_t n = collective_.kind == Collective::Kind::kBarrier ? 0 : shape_.num_elements();
  if (SendsWhole()) return {0, n};
  const auto parts = static_cast<int64_t>(members_.size());
  const int64_t each = n / parts, more = n % parts;  // `more` is 0 where rows are parted
  const auto begin_of = [&](int64_t i) { return i * each + std::min(i, more); };
  return {begin_of(part), begin_of(part + 1)};
}

int64_t Exchange::PieceElements() const {
  return std::max<int64_t>(kPieceBytes / element_bytes_, 1);
}

Tensor Exchange::Elements(const Tensor& of, Range range) const {
  return of.SliceRows(range.begin, range.size());
}

Tag Exchange::PieceTag(Phase phase, int64_t piece, uint64_t serial) const {
  constexpr int kPhaseBit = 63;
  return {static_cast<uint64_t>(piece) | static_cast<uint64_t>(phase) << kPhaseBit,
          static_cast<int64_t>(serial)};
}

char* Exchange::ResultAt(int64_t element) {
  return static_cast<char*>(result_.mutable_raw_data()) + element * element_bytes_;
}

absl::Status Exchange::Prepare() {
  const auto n = static_cast<int>(members_.size());
  if (self_ < 0) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", settings_.ways->rank,
                                                   " takes part in a collective of the ranks ",
                                                   absl::StrJoin(members_, ", ")));
  }
  const bool is_barrier = collective_.kind == Collective::Kind::kBarrier;
  if (!is_barrier && !IsTrivial(collective_.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a collective takes numbers, not ", DTypeName(collective_.dtype)));
  }
  if (!is_barrier) element_bytes_ = static_cast<int64_t>(DTypeSize(collective_.dtype));
  GYRE_ASSIGN_OR_RETURN(result_shape_, ResultShape(collective_, n));
  Tensor& input = collective_.input;
  // Where all merge parts, each part of the input has been taken before it is overwritten.
  const bool is_reused = IsSplit() && input.IsUnique();
  if (has_input_) flat_ = input.Reshaped(Shape::Vector(input.num_elements()));
  has_come_.assign(static_cast<size_t>(n), false);
  has_come_[static_cast<size_t>(self_)] = true;
  owed_.assign(static_cast<size_t>(n), 1);
  owed_[static_cast<size_t>(self_)] = 0;
  left_ = n - 1;
  if (is_barrier) return absl::OkStatus();
  if (collective_.kind == Collective::Kind::kBroadcast && has_input_) {
    result_ = std::move(input);
    sender_ = self_;
    return absl::OkStatus();
  }
  if (is_reused) {
    result_ = std::move(input);
  } else {
    input = Tensor();
    GYRE_ASSIGN_OR_RETURN(result_, Tensor::Make(collective_.dtype, result_shape_, alloc_));
  }
  if (collective_.kind == Collective::Kind::kBroadcast) return absl::OkStatus();
  const Range own = PartOf(self_);
  if (!Merges()) {
    const int64_t at =
        collective_.kind == Collective::Kind::kGather ? self_ * own.size() : own.begin;
    Write(at, static_cast<const char*>(flat_.raw_data()) + own.begin * element_bytes_, own.size());
    return absl::OkStatus();
  }
  waiting_.assign(static_cast<size_t>(NumPieces(own)), std::vector<Tensor>(members_.size()));
  merged_.assign(waiting_.size(), 0);
  for (size_t piece = 0; piece < waiting_.size(); ++piece) {
    const int64_t begin = own.begin + static_cast<int64_t>(piece) * PieceElements();
    waiting_[piece][static_cast<size_t>(self_)] =
        Elements(flat_, {begin, std::min(begin + PieceElements(), own.end)});
  }
  return absl::OkStatus();
}

void Exchange::Start() {
  if (absl::Status status = Prepare(); !status.ok()) return End(std::move(status));
  const auto n = static_cast<int>(members_.size());
  for (int member = 0; member < n; ++member) {
    if (member != self_) SendTo(member);
  }
  settings_.step->outbox()->Flush();
  const Tag tag = TagOf(tag_, collective_.group_key, collective_.instance_key);
  for (int member = 0; member < n; ++member) {
    if (member == self_) continue;
    const RankWays::Edges& from = settings_.ways->from[static_cast<size_t>(members_[member])];
    settings_.step->RecvAsync(from.contributions, tag,
                              [self = shared_from_this(), member](absl::StatusOr<Item> item) {
                                self->OnContribution(member, std::move(item));
                              });
  }
  const std::lock_guard lock(mutex_);
  --asking_;
}

void Exchange::SendTo(int member) {
  const RankWays::Edges& to = settings_.ways->to[static_cast<size_t>(members_[member])];
  proto::Contribution message;
  message.set_kind(static_cast<int>(collective_.kind));
  message.set_merge(static_cast<int>(collective_.merge));
  message.set_divides(collective_.divides);
  message.set_has_input(has_input_);
  message.set_dtype(static_cast<int>(collective_.dtype));
  for (const int rank : collective_.members) message.add_members(rank);
  message.set_node(node_);
  message.set_iteration(tag_.iteration);
  message.set_serial(settings_.serial);
  Range part;
  bool is_inline = true;
  if (has_input_) {
    for (const int64_t dim : shape_.dims()) message.add_dims(dim);
    part = PartOf(member);
    is_inline = part.size() * element_bytes_ <= kInlineBytes;
    if (is_inline) {
      message.set_data(static_cast<const char*>(flat_.raw_data()) + part.begin * element_bytes_,
                       static_cast<size_t>(part.size() * element_bytes_));
    }
  }
  const std::string bytes = message.SerializeAsString();
  const Tag tag = TagOf(tag_, collective_.group_key, collective_.instance_key);
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  absl::Status status = settings_.step->Send(
      to.contributions, tag,
      {Tensor::FromValues<uint8_t>(absl::MakeConstSpan(begin, bytes.size()),
                                   Shape::Vector(static_cast<int64_t>(bytes.size()))),
       false});
  const int64_t pieces = is_inline ? 0 : NumPieces(part);
  for (int64_t piece = 0; piece < pieces && status.ok(); ++piece) {
    const int64_t at = part.begin + piece * PieceElements();
    const Tensor elements = Elements(flat_, {at, std::min(at + PieceElements(), part.end)});
    status = settings_.step->Send(to.pieces, PieceTag(Phase::kPieces, piece, settings_.serial),
                                  {elements, false});
  }
  if (!status.ok()) Fail(status);
}

absl::Status Exchange::Check(int member, const proto::Contribution& theirs) const {
  const auto rank_of = [&](int m) {
    return settings_.ways->names[static_cast<size_t>(members_[m])];
  };
  const auto kind = static_cast<Collective::Kind>(theirs.kind());
  const auto disagree = [&](absl::string_view mine, absl::string_view other) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ranks disagree: ", rank_of(self_), " comes with ", mine, " to ", Place(),
                     ", and ", rank_of(member), " with ", other, " to ",
                     PlaceOf(kind, theirs.node(), theirs.iteration())));
  };
  if (theirs.kind() < 0 || theirs.kind() > static_cast<int>(Collective::Kind::kBarrier) ||
      theirs.merge() < 0 || theirs.merge() > static_cast<int>(MergeOp::kMax)) {
    return absl::DataLossError(absl::StrCat(rank_of(member), " brings what is no contribution"));
  }
  const auto merge = static_cast<MergeOp>(theirs.merge());
  if (kind != collective_.kind) return disagree(NameOf(collective_.kind), NameOf(kind));
  if (Merges() && (merge != collective_.merge || theirs.divides() != collective_.divides)) {
    return disagree(collective_.divides ? "a mean" : MergeName(collective_.merge),
                    theirs.divides() ? "a mean" : MergeName(merge));
  }
  if (!std::equal(theirs.members().begin(), theirs.members().end(), collective_.members.begin(),
                  collective_.members.end())) {
    return disagree("one set of ranks", "another");
  }
  const bool is_broadcast = kind == Collective::Kind::kBroadcast;
  if (kind == Collective::Kind::kBarrier || (is_broadcast && !theirs.has_input()))
    return absl::OkStatus();
  if (is_broadcast && has_input_) return disagree("a value", "another");
  const std::vector<int64_t> dims(theirs.dims().begin(), theirs.dims().end());
  if (theirs.dtype() != static_cast<int>(collective_.dtype) ||
      shape_.dims() != absl::MakeConstSpan(dims)) {
    return disagree(TypeOf(collective_.dtype, shape_.dims()),
                    TypeOf(DTypeFromWire(theirs.dtype()), dims));
  }
  // Two nodes of one key, which come in another order there.
  if (!is_broadcast && theirs.node() != node_) return disagree("one node", "another");
  return absl::OkStatus();
}

void Exchange::OnContribution(int member, absl::StatusOr<Item> item) {
  if (!item.ok()) return Fail(item.status());
  proto::Contribution theirs;
  std::vector<Outgoing> out;
  bool has_pieces = false;
  Range range;
  const absl::Status status = CatchOutOfMemory(kThisCollective, [&]() -> absl::Status {
    const Tensor& value = item->value;
    if (item->is_dead || value.dtype() != DType::kUint8 ||
        !theirs.ParseFromArray(value.raw_data(), static_cast<int>(value.bytes()))) {
      return absl::DataLossError(
          absl::StrCat(settings_.ways->names[static_cast<size_t>(members_[member])],
                       " brings what is no contribution"));
    }
    return Check(member, theirs);
  });
  std::unique_lock lock(mutex_);
  if (has_ended()) return;
  if (!status.ok()) return Settle(std::move(lock), status, {});
  absl::Status taken;
  has_come_[static_cast<size_t>(member)] = true;
  if (theirs.has_input()) {
    if (collective_.kind == Collective::Kind::kBroadcast) {
      if (sender_ >= 0)
        taken = absl::InvalidArgumentError(
            absl::StrCat("two ranks broadcast to ", Place(), ": ",
                         settings_.ways->names[static_cast<size_t>(members_[sender_])], " and ",
                         settings_.ways->names[static_cast<size_t>(members_[member])]));
      sender_ = member;
    }
    range = PartOf(self_);
    const int64_t bytes = range.size() * element_bytes_;
    has_pieces = theirs.data().empty() && bytes > 0;
    if (!has_pieces && static_cast<int64_t>(theirs.data().size()) != bytes) {
      taken = absl::DataLossError(
          absl::StrCat(settings_.ways->names[static_cast<size_t>(members_[member])],
                       " brings a contribution of another size than it says"));
    } else if (taken.ok() && !has_pieces && bytes > 0) {
      taken = CatchOutOfMemory(kThisCollective,
                               [&] { return TakeAll(member, theirs.data().data(), out); });
    }
    int64_t pieces = has_pieces ? NumPieces(range) : 0;
    if (IsSplit()) pieces += NumPieces(PartOf(member));
    left_ += pieces;
    owed_[static_cast<size_t>(member)] += pieces;
  }
  --owed_[static_cast<size_t>(member)];
  --left_;
  ++asking_;
  if (left_ == 0 && taken.ok() && collective_.kind == Collective::Kind::kBroadcast && sender_ < 0)
    taken = absl::InvalidArgumentError(absl::StrCat("no rank broadcasts to ", Place()));
  Settle(std::move(lock), taken, std::move(out));
  if (has_pieces && !has_ended()) AwaitPieces(member, Phase::kPieces, theirs.serial(), range);
  if (IsSplit() && !has_ended())
    AwaitPieces(member, Phase::kMerged, theirs.serial(), PartOf(member));
  lock = std::unique_lock(mutex_);
  --asking_;
}

void Exchange::AwaitPieces(int member, Phase phase, uint64_t serial, Range range) {
  const RankWays::Edges& from = settings_.ways->from[static_cast<size_t>(members_[member])];
  for (int64_t piece = 0; piece < NumPieces(range); ++piece) {
    settings_.step->RecvAsync(
        from.pieces, PieceTag(phase, piece, serial),
        [self = shared_from_this(), member, phase, piece](absl::StatusOr<Item> item) {
          self->OnPiece(member, phase, piece, std::move(item));
        });
  }
}

void Exchange::OnPiece(int member, Phase phase, int64_t piece, absl::StatusOr<Item> item) {
  if (!item.ok()) return Fail(item.status());
  std::unique_lock lock(mutex_);
  if (has_ended()) return;
  std::vector<Outgoing> out;
  const absl::Status status = CatchOutOfMemory(
      kThisCollective, [&] { return Take(member, phase, piece, item->value, out); });
  --owed_[static_cast<size_t>(member)];
  --left_;
  Settle(std::move(lock), status, std::move(out));
}

absl::Status Exchange::TakeAll(int member, const char* elements, std::vector<Outgoing>& out) {
  const Range range = PartOf(self_);
  GYRE_ASSIGN_OR_RETURN(Tensor value, Tensor::Make(collective_.dtype, Shape::Vector(range.size()),
                                                   Tensor::Alloc{nullptr, budget_.get()}));
  std::memcpy(value.mutable_raw_data(), elements, value.bytes());
  return Take(member, Phase::kPieces, 0, value, out);
}

absl::Status Exchange::Take(int member, Phase phase, int64_t piece, const Tensor& elements,
                            std::vector<Outgoing>& out) {
  const Range part = PartOf(phase == Phase::kMerged ? member : self_);
  const int64_t offset = piece * PieceElements();
  const int64_t size = std::min(PieceElements(), part.size() - offset);
  if (!elements.has_value() || elements.dtype() != collective_.dtype ||
      elements.num_elements() != size) {
    return absl::DataLossError(
        absl::StrCat(settings_.ways->names[static_cast<size_t>(members_[member])],
                     " sends a piece of another size than agreed"));
  }
  if (phase == Phase::kMerged) {
    Write(part.begin + offset, elements.raw_data(), size);
    return absl::OkStatus();
  }
  if (Merges()) {
    waiting_[static_cast<size_t>(piece)][static_cast<size_t>(member)] = elements;
    return MergePiece(piece, out);
  }
  const bool is_broadcast = collective_.kind == Collective::Kind::kBroadcast;
  Write((is_broadcast ? 0 : member * part.size()) + offset, elements.raw_data(), size);
  return absl::OkStatus();
}

// Merges what has come without a gap, in the order of the ranks.
absl::Status Exchange::MergePiece(int64_t piece, std::vector<Outgoing>& out) {
  const int64_t offset = piece * PieceElements();
  const int64_t at = offset + (IsSplit() ? PartOf(self_).begin : 0);
  std::vector<Tensor>& waiting = waiting_[static_cast<size_t>(piece)];
  int& merged = merged_[static_cast<size_t>(piece)];
  const auto n = static_cast<int>(members_.size());
  int64_t size = 0;
  for (; merged < n && waiting[static_cast<size_t>(merged)].has_value(); ++merged) {
    Tensor next = std::move(waiting[static_cast<size_t>(merged)]);
    size = next.num_elements();
    if (merged == 0) {
      Write(at, next.raw_data(), size);
    } else {
      GYRE_RETURN_IF_ERROR(
          MergeInto(collective_.merge, collective_.dtype, ResultAt(at), next.raw_data(), size));
    }
  }
  if (merged < n) return absl::OkStatus();
  if (collective_.divides) GYRE_RETURN_IF_ERROR(DivideBy(collective_.dtype, n, ResultAt(at), size));
  if (IsSplit()) {
    const Tensor flat = result_.Reshaped(Shape::Vector(result_.num_elements()));
    out.push_back(
        {Elements(flat, {at, at + size}), PieceTag(Phase::kMerged, piece, settings_.serial)});
  }
  return absl::OkStatus();
}

void Exchange::Write(int64_t at, const void* elements, int64_t n) {
  if (n > 0) std::memcpy(ResultAt(at), elements, static_cast<size_t>(n * element_bytes_));
}

// What a call of the above has come to, with the lock given up.
void Exchange::Settle(std::unique_lock<std::mutex> lock, absl::Status status,
                      std::vector<Outgoing> out) {
  const bool is_done = status.ok() && left_ == 0;
  lock.unlock();
  for (size_t i = 0; i < out.size() && status.ok(); ++i) {
    for (size_t member = 0; member < members_.size() && status.ok(); ++member) {
      if (static_cast<int>(member) == self_) continue;
      const RankWays::Edges& to = settings_.ways->to[static_cast<size_t>(members_[member])];
      status = settings_.step->Send(to.pieces, out[i].tag, {out[i].value, false});
    }
  }
  if (!out.empty()) settings_.step->outbox()->Flush();
  if (!status.ok()) return End(std::move(status));
  if (!is_done) return;
  lock.lock();
  if (has_ended()) return;
  Tensor result = collective_.kind == Collective::Kind::kBarrier ? Tensor() : result_;
  lock.unlock();
  End(std::move(result));
}

void Exchange::Fail(const absl::Status& why) { End(why); }

void Exchange::End(absl::StatusOr<Tensor> result) {
  CollectiveGroup::Done done;
  {
    const std::lock_guard lock(mutex_);
    if (done_ == nullptr) return;
    done = std::exchange(done_, nullptr);
    has_ended_.store(true, std::memory_order_release);
    result_ = Tensor();
    waiting_.clear();
    if (asking_ == 0) flat_ = Tensor();  // else Start still sends it
  }
  if (settings_.on_ended) settings_.on_ended(*this);
  done(std::move(result));
  has_told_.store(true, std::memory_order_release);
  has_told_.notify_all();
}

void Exchange::AwaitEnd() const { has_told_.wait(false, std::memory_order_acquire); }

std::vector<int> Exchange::Missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> missing;
  if (asking_ > 0) return missing;
  for (size_t member = 0; member < has_come_.size(); ++member) {
    if (!has_come_[member]) missing.push_back(members_[member]);
  }
  return missing;
}

bool Exchange::IsOwedBy(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto member = std::find(members_.begin(), members_.end(), rank) - members_.begin();
  return asking_ == 0 && member < static_cast<int64_t>(owed_.size()) &&
         owed_[static_cast<size_t>(member)] > 0;
}

std::string Exchange::Place() const { return PlaceOf(collective_.kind, node_, tag_.iteration); }

}  // namespace gyre::cluster
