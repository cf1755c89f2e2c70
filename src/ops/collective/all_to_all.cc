// CollectiveAllToAllV2: each rank sends each other one its part of the rows.
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

void AllToAll(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  Collective collective{.kind = Collective::Kind::kAllToAll,
                        .dtype = attrs.dtype,
                        .timeout_nanos = attrs.timeout_nanos};
  if (!attrs.status.ok()) return done(attrs.status);
  const absl::StatusOr<int> ranks = ReadKeys(ctx, 1, collective);
  if (!ranks.ok()) return done(ranks.status());
  collective.input = ctx.TakeInput(0);
  RunCollective(ctx, std::move(collective), *ranks, std::move(done));
}

void AllToAllGradient(GradientContext& g) {
  g.Add(0, CollectiveOfGradient(g, "CollectiveAllToAllV2", g.grad(), PlainAttrs()));
}

}  // namespace

void RegisterCollectiveAllToAllV2(OpRegistry& ops) {
  ops.Add({
      .schema = "CollectiveAllToAllV2(input: T, group_size: int32, group_key: int32, instance_key: "
                "int32, ordering_token: Nordering_token * resource) -> data: T "
                "{T: {bfloat16, float, half, double, int32, int64}; "
                "communication_hint: string = 'auto'; timeout_seconds: float = 0; "
                "is_stateless: bool = false; Nordering_token: int >= 0 = 0}",
      .doc = "Gives each rank of a group its part of the rows of all, in the order of the ranks.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::SameAsInput,
      .gradient = {AllToAllGradient},
      .kernel = Compute<AllToAll>(),
  });
}

}  // namespace gyre
