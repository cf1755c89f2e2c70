// CollectiveAllToAllV2: each rank sends each other one its part of the rows.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

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
      .kernel = Compute<&RunKeyed<Collective::Kind::kAllToAll>>(),
  });
}

}  // namespace gyre
