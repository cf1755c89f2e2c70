// Exchange: one collective, as one rank sees it, from when its kernel starts it to its result.
//
//   contribution   who brings what, to each other rank; with the elements if they are few
//   pieces         elements of an input: all of them, or the part that is the receiver's
//   merged         of a large all_reduce: the part that this rank has merged, to all others
//
// Contributions are found by group and instance key and by the tag, first come, first served; what
// follows by the sender's serial number. Elements are merged in the order of the ranks, so that all
// have the same bits. Thread-safe; callbacks run on whatever thread polls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cluster/proto/group.pb.h"
#include "cluster/step_rendezvous.h"
#include "ops/collective/group.h"

namespace gyre::cluster {

// The ways from this rank to the others.
struct RankWays {
  struct Edges {
    TransferEdge contributions, pieces;
  };
  int rank = 0;
  std::vector<std::string> names;  // of the ranks, for people
  std::vector<Edges> to, from;     // by rank

  RankWays(int rank, std::vector<std::string> names);
  int size() const { return static_cast<int>(names.size()); }
  static std::string DeviceOf(int rank) { return absl::StrCat(rank); }
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // Up to so many bytes go with the contribution.
  static constexpr int64_t kInlineBytes = 8192;
  // Up to so many are sent whole by each rank to each other one, to be merged by all.
  static constexpr int64_t kWholeBytes = int64_t{128} << 10;
  static constexpr int64_t kPieceBytes = int64_t{1} << 20;

  struct Settings {
    const RankWays* ways = nullptr;
    std::shared_ptr<StepRendezvous> step;
    uint64_t serial = 0;
    int64_t started_nanos = 0;
    // Behind `done`. Null: nobody wants to know.
    std::function<void(const Exchange&)> on_ended;
  };
  Exchange(Settings settings, const KernelContext& ctx, Collective collective,
           CollectiveGroup::Done done);

  // What the contributions to a collective are found by.
  static Tag TagOf(Tag at, int32_t group_key, int32_t instance_key);

  // Sends what this rank brings, and waits for the others'.
  void Start();
  // Unless it has ended.
  void Fail(const absl::Status& why);

  // Then `done` has been called, or is about to be.
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  // Requirement: has_ended(). Returns once `done` has.
  void AwaitEnd() const;
  int64_t started_nanos() const { return settings_.started_nanos; }
  int64_t timeout_nanos() const { return collective_.timeout_nanos; }
  uint64_t serial() const { return settings_.serial; }
  bool is_small() const { return input_bytes_ <= kWholeBytes; }
  // The ranks that have not come yet, as far as is known.
  std::vector<int> Missing() const;
  // Something of that rank's is still to come, and is not here already.
  bool IsOwedBy(int rank) const;
  const std::string& node() const { return node_; }
  // "node x (all_reduce), iteration 3"
  std::string Place() const;

 private:
  using Item = Rendezvous::Item;
  struct Range {
    int64_t begin = 0, end = 0;  // elements
    int64_t size() const { return end - begin; }
  };
  // Elements that are to be sent once the lock is free.
  struct Outgoing {
    Tensor value;
    Tag tag;
  };
  enum class Phase : uint8_t { kPieces, kMerged };

  absl::Status Prepare();
  bool Merges() const;
  bool SendsWhole() const;
  // An all_reduce whose parts are merged by one rank each.
  bool IsSplit() const;
  // What of an input is the `part`-th member's.
  Range PartOf(int part) const;
  int64_t PieceElements() const;
  int64_t NumPieces(Range range) const {
    return (range.size() + PieceElements() - 1) / PieceElements();
  }
  Tensor Elements(const Tensor& of, Range range) const;
  Tag PieceTag(Phase phase, int64_t piece, uint64_t serial) const;
  void SendTo(int member);
  void OnContribution(int member, absl::StatusOr<Item> item);
  absl::Status Check(int member, const proto::Contribution& theirs) const;
  void AwaitPieces(int member, Phase phase, uint64_t serial, Range range);
  void OnPiece(int member, Phase phase, int64_t piece, absl::StatusOr<Item> item);
  // Requirement for these: mutex_ is held.
  absl::Status Take(int member, Phase phase, int64_t piece, const Tensor& elements,
                    std::vector<Outgoing>& out);
  absl::Status TakeAll(int member, const char* elements, std::vector<Outgoing>& out);
  absl::Status MergePiece(int64_t piece, std::vector<Outgoing>& out);
  void Write(int64_t at, const void* elements, int64_t n);
  char* ResultAt(int64_t element);
  void Settle(std::unique_lock<std::mutex> lock, absl::Status status, std::vector<Outgoing> out);
  void End(absl::StatusOr<Tensor> result);

  const Settings settings_;
  Collective collective_;  // after Prepare without its input
  const bool has_input_;
  const Shape shape_;  // of the input, or of what is received
  const std::string node_;
  const Tag tag_;
  const Tensor::Alloc alloc_;
  const RefPtr<MemoryBudget> budget_;
  std::vector<int> members_;  // ranks
  int self_ = -1;             // which of them this one is
  Shape result_shape_;
  Tensor flat_;  // the input as a vector
  int64_t element_bytes_ = 1;
  int64_t input_bytes_ = 0;
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> has_told_{false};  // `done` has returned

  mutable std::mutex mutex_;    // guards what follows
  CollectiveGroup::Done done_;  // null once it has been called
  Tensor result_;
  int sender_ = -1;             // of a broadcast: which member
  std::vector<bool> has_come_;  // by member
  int64_t left_ = 0;            // contributions and pieces that are still to come
  std::vector<int64_t> owed_;   // of these, by member
  int asking_ = 1;              // who is about to ask for some of them: they may lie here by now
  // Of a reduction, by piece: what has come of each member, and how many have been merged.
  std::vector<std::vector<Tensor>> waiting_;
  std::vector<int> merged_;
};

}  // namespace gyre::cluster
