#include "ops/collective/group.h"

#include <unistd.h>

#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fork.h"

namespace gyre {
namespace {

struct ThisProcess {
  std::mutex mutex;
  std::shared_ptr<CollectiveGroup> group;  // guarded by mutex
  pid_t pid = 0;                           // whose it is: a child that is forked has none
  static ThisProcess& Get() {
    static auto* const process = new ThisProcess;
    return *process;
  }
};

}  // namespace

absl::StatusOr<MergeOp> ParseMergeOp(absl::string_view text) {
  if (text == "Add") return MergeOp::kAdd;
  if (text == "Mul") return MergeOp::kMul;
  if (text == "Min") return MergeOp::kMin;
  if (text == "Max") return MergeOp::kMax;
  return absl::InvalidArgumentError(
      absl::StrCat("contributions are merged by Add, Mul, Min or Max, not by \"", text, "\""));
}

absl::string_view NameOf(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::kReduce:
      return "all_reduce";
    case Collective::Kind::kReduceScatter:
      return "reduce_scatter";
    case Collective::Kind::kGather:
      return "all_gather";
    case Collective::Kind::kBroadcast:
      return "broadcast";
    case Collective::Kind::kAllToAll:
      return "all_to_all";
    case Collective::Kind::kBarrier:
      break;
  }
  return "barrier";
}

absl::StatusOr<Shape> ResultShape(const Collective& collective, int num_ranks) {
  const Shape& shape = collective.input.has_value() ? collective.input.shape() : collective.shape;
  switch (collective.kind) {
    case Collective::Kind::kReduce:
    case Collective::Kind::kBroadcast:
    case Collective::Kind::kBarrier:
      return shape;
    default:
      break;
  }
  if (shape.rank() == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(collective.kind), " takes rows, and a scalar has none"));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (collective.kind == Collective::Kind::kGather) {
    if (__builtin_mul_overflow(dims[0], num_ranks, &dims[0]))
      return absl::InvalidArgumentError("there are too many rows to be gathered");
    return Shape::Make(dims);
  }
  if (dims[0] % num_ranks != 0) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(collective.kind), " parts rows among ",
                                                   num_ranks, " ranks, which a tensor of shape ",
                                                   shape.ToString(), " cannot be"));
  }
  if (collective.kind == Collective::Kind::kReduceScatter) dims[0] /= num_ranks;
  return Shape::Make(dims);
}

std::shared_ptr<CollectiveGroup> TheCollectiveGroup() {
  ThisProcess& process = ThisProcess::Get();
  const NoFork no_fork;
  const std::lock_guard lock(process.mutex);
  return process.group != nullptr && process.pid == getpid() ? process.group : nullptr;
}

void SetCollectiveGroup(std::shared_ptr<CollectiveGroup> group) {
  ThisProcess& process = ThisProcess::Get();
  const NoFork no_fork;
  const std::lock_guard lock(process.mutex);
  process.group.swap(group);
  // The threads of a parent's are not here: it can only be forgotten.
  if (std::exchange(process.pid, getpid()) != getpid() && group != nullptr)
    new std::shared_ptr<CollectiveGroup>(std::move(group));
}

bool IsCollective(absl::string_view op_name) {
  return absl::StartsWith(op_name, "Collective") || absl::StartsWith(op_name, "_Collective");
}

}  // namespace gyre
