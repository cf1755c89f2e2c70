// CollectiveInitializeCommunicator, and the collectives on its handle, which part the ranks into
// groups themselves; CollectiveAssignGroupV2.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"
#include "ops/state/resource.h"

namespace gyre {
namespace {

// What its collectives have in common. Immutable.
class Communicator final : public Object {
 public:
  static constexpr absl::string_view kTypeName = "Communicator";
  Communicator(int32_t key, int num_ranks) : key(key), num_ranks(num_ranks) {}
  absl::string_view type_name() const override { return kTypeName; }
  const int32_t key;
  const int num_ranks;
};

absl::Status Initialize(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t key, ctx.IntScalar(0, "group_key"));
  GYRE_ASSIGN_OR_RETURN(const int64_t rank, ctx.IntScalar(1, "rank"));
  GYRE_ASSIGN_OR_RETURN(const int64_t size, ctx.IntScalar(2, "group_size"));
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  const int own_rank = group == nullptr ? 0 : group->rank();
  const int own_size = group == nullptr ? 1 : group->size();
  if (rank != own_rank || size != own_size) {
    return absl::InvalidArgumentError(absl::StrCat("a communicator of rank ", rank, " of ", size,
                                                   ", where this process is rank ", own_rank,
                                                   " of ", own_size));
  }
  ctx.set_output(0, Tensor::FromObject(DType::kResource,
                                       MakeRef<Communicator>(static_cast<int32_t>(key), own_size)));
  return absl::OkStatus();
}

// The row of an assignment that `rank` is in: an index, and the ranks.
absl::StatusOr<std::pair<int64_t, std::vector<int>>> RowOf(const Tensor& assignment, int rank,
                                                           int num_ranks) {
  if (assignment.dtype() != DType::kInt32 || assignment.shape().rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_assignment has a row of ranks for each group, and not shape ",
                     assignment.shape().ToString()));
  }
  const absl::Span<const int32_t> ranks = assignment.values<int32_t>();
  std::vector<bool> seen(static_cast<size_t>(num_ranks), false);
  std::pair<int64_t, std::vector<int>> found(-1, {});
  const int64_t columns = assignment.dim(1);
  for (int64_t i = 0; i < assignment.num_elements(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= num_ranks || seen[static_cast<size_t>(ranks[i])]) {
      return absl::InvalidArgumentError(
          absl::StrCat("group_assignment names rank ", ranks[i],
                       ranks[i] >= 0 && ranks[i] < num_ranks ? " twice" : ", which there is not"));
    }
    seen[static_cast<size_t>(ranks[i])] = true;
    if (ranks[i] == rank) found.first = i / columns;
  }
  if (found.first < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_assignment has no group for rank ", rank));
  }
  for (int64_t i = 0; i < columns; ++i) found.second.push_back(ranks[found.first * columns + i]);
  return found;
}

// Such an op has no instance key: its node stands for one.
int32_t InstanceOf(const Node& node) {
  uint32_t hash = 2166136261;
  for (const char c : node.name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int32_t>(hash | 0x40000000u);  // apart from those that programs count
}

void RunOn(KernelContext& ctx, Collective collective, KernelDone done) {
  const auto* const communicator = ctx.input(1).object_as<Communicator>();
  if (communicator == nullptr) return done(NotAHandle(ctx, 1, Communicator::kTypeName));
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  auto row = RowOf(ctx.input(2), group == nullptr ? 0 : group->rank(), communicator->num_ranks);
  if (!row.ok()) return done(row.status());
  collective.group_key = communicator->key;
  collective.instance_key = InstanceOf(ctx.node());
  collective.members = std::move(row->second);
  const auto members = static_cast<int>(collective.members.size());
  collective.input = ctx.TakeInput(0);
  RunCollective(ctx, std::move(collective), members, std::move(done));
}

void ReduceV3(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  if (!attrs.status.ok()) return done(attrs.status);
  RunOn(ctx,
        {.kind = Collective::Kind::kReduce,
         .merge = attrs.merge,
         .dtype = attrs.dtype,
         .timeout_nanos = attrs.timeout_nanos},
        std::move(done));
}

void AllToAllV3(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  if (!attrs.status.ok()) return done(attrs.status);
  RunOn(ctx,
        {.kind = Collective::Kind::kAllToAll,
         .dtype = attrs.dtype,
         .timeout_nanos = attrs.timeout_nanos},
        std::move(done));
}

void ReduceV3Gradient(GradientContext& g) {
  const std::string reduction = g.attr<std::string>("reduction", "Add");
  if (reduction != "Add") {
    return g.Fail(absl::UnimplementedError(
        absl::StrCat("CollectiveReduceV3 is differentiated where it adds, not by ", reduction,
                     ": CollectiveReduceV2 is, by all reductions")));
  }
  AttrMap attrs;
  attrs.Set("reduction", reduction);
  g.Add(0, g.op("CollectiveReduceV3", {g.grad(), g.input(1), g.input(2)}, std::move(attrs)));
}

void AllToAllV3Gradient(GradientContext& g) {
  g.Add(0, g.op("CollectiveAllToAllV3", {g.grad(), g.input(1), g.input(2)}));
}

// Keys of groups follow one another, from base_key on.
absl::Status AssignGroup(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t index, ctx.IntScalar(1, "device_index"));
  GYRE_ASSIGN_OR_RETURN(const int64_t base_key, ctx.IntScalar(2, "base_key"));
  const Tensor& assignment = ctx.input(0);
  constexpr int64_t kMost = 1 << 24;
  const int64_t named = assignment.num_elements();
  if (index < 0 || index >= named || named > kMost)
    return absl::InvalidArgumentError(absl::StrCat("group_assignment has no device ", index));
  GYRE_ASSIGN_OR_RETURN(const auto row,
                        RowOf(assignment, static_cast<int>(index), static_cast<int>(named)));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(row.second.size())));
  ctx.set_output(1, Tensor::Scalar(static_cast<int32_t>(base_key + row.first)));
  return absl::OkStatus();
}

}  // namespace

void RegisterCollectiveCommunicator(OpRegistry& ops) {
  ops.Add({.schema = "CollectiveInitializeCommunicator(group_key: int32, rank: int32, group_size: "
                     "int32) -> communicator: resource {communication_hint: string = 'auto'; "
                     "timeout_seconds: float = 0}",
           .doc = "A handle for collectives of all ranks, or of groups of them.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its inputs are integers"),
           .kernel = Compute<Initialize>()});
  ops.Add({.schema = "CollectiveReduceV3(input: T, communicator: resource, group_assignment: "
                     "int32) -> data: T {T: {bfloat16, float, half, double, int32, int64}; "
                     "reduction: {'Min', 'Max', 'Mul', 'Add'}; timeout_seconds: float = 0}",
           .doc = "Reduces a tensor over the ranks of a row of group_assignment.",
           .traits = {.effect = Effect::kIo},
           .shape = shape::SameAsInput,
           .gradient = {ReduceV3Gradient},
           .kernel = Compute<ReduceV3>()});
  ops.Add({.schema = "CollectiveAllToAllV3(input: T, communicator: resource, group_assignment: "
                     "int32) -> data: T {T: {bfloat16, float, half, double, int32, int64}; "
                     "timeout_seconds: float = 0}",
           .doc = "Gives each rank of a row of group_assignment its part of the rows of all.",
           .traits = {.effect = Effect::kIo},
           .shape = shape::SameAsInput,
           .gradient = {AllToAllV3Gradient},
           .kernel = Compute<AllToAllV3>()});
  ops.Add({.schema = "CollectiveAssignGroupV2(group_assignment: int32, device_index: int32, "
                     "base_key: int32) -> group_size: int32, group_key: int32",
           .doc = "The size and the key of the group of a row that a device is in.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its inputs are integers"),
           .kernel = Compute<AssignGroup>()});
}

}  // namespace gyre
