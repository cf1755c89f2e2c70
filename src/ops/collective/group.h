// CollectiveGroup: processes that run the same programs side by side, each as a rank of its own,
// and the collectives that their runs meet in.
//
// A collective of one rank meets that of the others which has the same group and instance key, in
// the same iteration of the same frame, in the same run. Runs of programs that hold collectives are
// counted by each rank, from when the group came together: the n-th meets the n-th. Who comes to
// another collective, or to none, has diverged: an error, as is a rank that dies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "gyre/core/export.h"
#include "gyre/core/observer.h"
#include "ops/kernel.h"

namespace gyre {

// How two contributions become one.
enum class MergeOp : uint8_t { kAdd, kMul, kMin, kMax };
// "Add", "Mul", "Min", "Max", as the attribute merge_op has it. INVALID_ARGUMENT for other text.
absl::StatusOr<MergeOp> ParseMergeOp(absl::string_view text);

// What one rank brings, and what it wants.
struct Collective {
  enum class Kind : uint8_t {
    kReduce,         // all contributions merged, for each
    kReduceScatter,  // of that, to rank i the i-th part of the rows
    kGather,         // all contributions, one below the other
    kBroadcast,      // the one contribution that there is
    kAllToAll,       // from each rank the part of its rows that is this rank's
    kBarrier,        // nothing, once all have come
  };
  Kind kind = Kind::kBarrier;
  MergeOp merge = MergeOp::kAdd;
  bool divides = false;  // what is merged, by the number of ranks
  int32_t group_key = 0;
  int32_t instance_key = 0;
  std::vector<int> members;  // ranks, in the order in which they count; empty: all
  Tensor input;              // none: receives a broadcast, or waits at a barrier
  DType dtype = DType::kInvalid;
  Shape shape;                // of what a broadcast brings to who sends none
  int64_t timeout_nanos = 0;  // 0: as long as the run may take
};

// "all_reduce", "all_gather" …, for people.
absl::string_view NameOf(Collective::Kind kind);
// The shape of what comes of it, for so many ranks. INVALID_ARGUMENT if the input cannot be parted
// among them.
absl::StatusOr<Shape> ResultShape(const Collective& collective, int num_ranks);

// A run's part in a group. Ends with the run: then the others learn of its outcome.
class CollectiveRun {
 public:
  virtual ~CollectiveRun() = default;
  // What the run's kernels are to have in place of the rendezvous that Begin was given: who waits
  // on it for something moves what comes from the other ranks.
  virtual Rendezvous* rendezvous() = 0;
  // For the run's engine: asks it where it is, for the other ranks, and for `others` of Begin.
  virtual ProgressProbe* probe() = 0;
  virtual void End(const absl::Status& outcome) = 0;
  // The node whose collective the ranks did not all come to; "": nothing of that kind has happened.
  virtual std::string DivergedAt() const = 0;
};

// Thread-safe.
class GYRE_EXPORT CollectiveGroup {
 public:
  virtual ~CollectiveGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Ranks that come together again, after one was lost, are a group of a higher epoch.
  virtual uint64_t epoch() const = 0;
  // Which rank is gone, and why; "" while all are there.
  virtual std::string Lost() const = 0;
  // All that runs fails, and nothing begins any more. The others are told why; "": this process's
  // program has ended, as the end of a group says by itself.
  virtual void Leave(const std::string& why) = 0;
  // A run of a program that holds collectives begins. `env`, and `others`, whose questions the
  // run's probe answers, too (null: nobody asks), must outlive it. UNAVAILABLE if a rank is gone.
  virtual absl::StatusOr<std::unique_ptr<CollectiveRun>> Begin(RunEnv& env,
                                                               ProgressProbe* others) = 0;
  // `done` is called once, maybe before this returns. A kernel whose run has not begun here (one
  // that runs at once) is a run of its own.
  using Done = std::function<void(absl::StatusOr<Tensor>)>;
  virtual void Start(KernelContext& ctx, Collective collective, Done done) = 0;
};

// The group that this process belongs to; null: it is alone, as a child that a rank forks is. Any
// thread.
GYRE_EXPORT std::shared_ptr<CollectiveGroup> TheCollectiveGroup();
GYRE_EXPORT void SetCollectiveGroup(std::shared_ptr<CollectiveGroup> group);

// Whether an op of this name is a collective: runs of programs that hold one are counted.
GYRE_EXPORT bool IsCollective(absl::string_view op_name);

}  // namespace gyre
