// _CollectiveBarrier: waits until all ranks have come.
#include <utility>

#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

void Barrier(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  Collective collective{.kind = Collective::Kind::kBarrier, .timeout_nanos = attrs.timeout_nanos};
  if (!attrs.status.ok()) return done(attrs.status);
  const absl::StatusOr<int> ranks = ReadKeys(ctx, 0, collective);
  if (!ranks.ok()) return done(ranks.status());
  RunCollective(ctx, std::move(collective), *ranks, std::move(done));
}

}  // namespace

void RegisterCollectiveBarrier(OpRegistry& ops) {
  ops.Add({.schema = "_CollectiveBarrier(group_size: int32, group_key: int32, instance_key: int32) "
                     "-> {timeout_seconds: float = 0}",
           .doc = "Waits until all ranks of a group have come.",
           .traits = {.effect = Effect::kIo},
           .shape = shape::None,
           .gradient = NotDifferentiable("it has no outputs"),
           .kernel = Compute<Barrier>()});
}

}  // namespace gyre
