// CollectiveGatherV2: what all ranks bring, one below the other.
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

void GatherGradient(GradientContext& g) {
  g.Add(0, CollectiveOfGradient(g, "CollectiveReduceScatterV2", g.grad(),
                                ReductionAttrs("Add", "Id")));
}

absl::Status AllRows(ShapeContext& c) {
  PartialShape shape = c.input(0);
  if (!shape.has_rank()) return absl::OkStatus();
  if (shape.rank() == 0) return c.RequireRank(0, 1);
  const std::optional<int64_t> size = c.input_int(1);
  int64_t rows = -1;
  const bool is_known = size && *size > 0 && shape.dim(0) >= 0;
  if (!is_known || __builtin_mul_overflow(shape.dim(0), *size, &rows)) rows = -1;
  shape.set_dim(0, rows);
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

void RegisterCollectiveGatherV2(OpRegistry& ops) {
  ops.Add({
      .schema =
          "CollectiveGatherV2(input: T, group_size: int32, group_key: int32, instance_key: int32, "
          "ordering_token: Nordering_token * resource) -> data: T "
          "{T: {float, half, double, int32, int64}; "
          "communication_hint: string = 'auto'; timeout_seconds: float = 0; "
          "is_stateless: bool = false; Nordering_token: int >= 0 = 0}",
      .doc = "Gives each rank of a group the rows of all, in the order of the ranks.",
      .traits = {.effect = Effect::kIo},
      .shape = AllRows,
      .gradient = {GatherGradient},
      .kernel = Compute<&RunKeyed<Collective::Kind::kGather>>(),
  });
}

}  // namespace gyre
