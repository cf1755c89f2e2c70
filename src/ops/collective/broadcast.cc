// CollectiveBcastSendV2 and RecvV2: one rank sends, the others receive. _CollectiveBroadcast: the
// same op on all ranks, so that each has a gradient.
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

void Receive(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  Collective collective{.kind = Collective::Kind::kBroadcast,
                        .dtype = attrs.dtype,
                        .timeout_nanos = attrs.timeout_nanos};
  if (!attrs.status.ok()) return done(attrs.status);
  const absl::StatusOr<int> ranks = ReadKeys(ctx, 0, collective);
  if (!ranks.ok()) return done(ranks.status());
  absl::StatusOr<Shape> shape = ctx.ShapeInput(3, "shape");
  if (!shape.ok()) return done(shape.status());
  collective.shape = *std::move(shape);
  RunCollective(ctx, std::move(collective), *ranks, std::move(done));
}

struct BroadcastAttrs : CollectiveAttrs {
  explicit BroadcastAttrs(const Node& node)
      : CollectiveAttrs(node), root(NodeAttr<int64_t>(node, "root")) {}
  int64_t root;
};

void Broadcast(KernelContext& ctx, const BroadcastAttrs& attrs, KernelDone done) {
  Collective collective{.kind = Collective::Kind::kBroadcast, .dtype = attrs.dtype};
  const absl::StatusOr<int> ranks = ReadKeys(ctx, 1, collective);
  if (!ranks.ok()) return done(ranks.status());
  if (attrs.root < 0 || attrs.root >= *ranks) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("rank ", attrs.root, " is to broadcast, and there are ", *ranks)));
  }
  Tensor input = ctx.TakeInput(0);
  collective.shape = input.shape();
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  if (*ranks == 1 || (group != nullptr && group->rank() == attrs.root))
    collective.input = std::move(input);
  RunCollective(ctx, std::move(collective), *ranks, std::move(done));
}

// All get what the root has: its gradient is the sum over all, and that of the others is zero. To
// the sum they contribute all the same.
void BroadcastGradient(GradientContext& g) {
  const Expr sum =
      CollectiveOfGradient(g, "CollectiveReduceV2", g.grad(), ReductionAttrs("Add", "Id"));
  AttrMap attrs;
  attrs.Set("root", g.attr<int64_t>("root", 0));
  g.Add(0, g.op("_CollectiveIfRoot", {sum, g.input(1)}, std::move(attrs)));
}

absl::Status IfRoot(KernelContext& ctx, const BroadcastAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const int64_t ranks, ctx.IntScalar(1, "group_size"));
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  const int rank = ranks == 1 || group == nullptr ? 0 : group->rank();
  if (rank == attrs.root) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateZeros(ctx.output_dtype(0), ctx.input(0).shape()));
  ctx.set_output(0, std::move(zeros));
  return absl::OkStatus();
}

void IfRootGradient(GradientContext& g) {
  AttrMap attrs;
  attrs.Set("root", g.attr<int64_t>("root", 0));
  g.Add(0, g.op("_CollectiveIfRoot", {g.grad(), g.input(1)}, std::move(attrs)));
}

absl::Status ShapeOfInput3(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(3));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

constexpr absl::string_view kSentTypes = "T: {bool, float, half, double, int32, int64}; ";

}  // namespace

void RegisterCollectiveBroadcast(OpRegistry& ops) {
  const std::string send = absl::StrCat(
      "CollectiveBcastSendV2(input: T, group_size: int32, group_key: int32, instance_key: int32) "
      "-> data: T {",
      kSentTypes, "communication_hint: string = 'auto'; timeout_seconds: float = 0}");
  ops.Add({.schema = send,
           .doc = "Sends a tensor to the other ranks of a group.",
           .traits = {.effect = Effect::kIo},
           .shape = shape::SameAsInput,
           .gradient = RefusesGradient("the ranks that receive would not take part in it"),
           .kernel = Compute<&RunKeyed<Collective::Kind::kBroadcast>>()});
  const std::string receive = absl::StrCat(
      "CollectiveBcastRecvV2(group_size: int32, group_key: int32, instance_key: int32, shape: "
      "Tshape) -> data: T {",
      kSentTypes,
      "Tshape: {int32, int64} = int32; communication_hint: string = 'auto'; timeout_seconds: float "
      "= 0}");
  ops.Add({.schema = receive,
           .doc = "Receives what one rank of a group sends to the others.",
           .traits = {.effect = Effect::kIo},
           .shape = ShapeOfInput3,
           .gradient = NotDifferentiable("it has no inputs to be differentiated by"),
           .kernel = Compute<Receive>()});
  ops.Add({.schema = "_CollectiveBroadcast(input: T, group_size: int32, group_key: int32, "
                     "instance_key: int32) -> data: T {T: {bfloat16, bool, float, half, double, "
                     "int32, int64}; root: int >= 0 = 0}",
           .doc = "What the root of a group has, for each of its ranks.",
           .traits = {.effect = Effect::kIo},
           .shape = shape::SameAsInput,
           .gradient = {BroadcastGradient},
           .kernel = Compute<Broadcast>()});
  ops.Add({.schema = "_CollectiveIfRoot(input: T, group_size: int32) -> data: T {T: "
                     "{bfloat16, float, half, double, int32, int64}; root: int >= 0 = 0}",
           .doc = "The input on the root of a group, zeros on its other ranks.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::SameAsInput,
           .gradient = {IfRootGradient},
           .kernel = Compute<IfRoot>()});
}

}  // namespace gyre
