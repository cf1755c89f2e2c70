// CollectiveReduceScatterV2: what all ranks bring, merged; each gets its part of the rows.
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

void ReduceScatterGradient(GradientContext& g) {
  if (g.attr<std::string>("merge_op", "Add") != "Add") {
    return g.Fail(absl::UnimplementedError(
        "of what is scattered, sums and means are differentiated, and no other reductions: gather, "
        "and reduce the rows"));
  }
  Expr dx = CollectiveOfGradient(g, "CollectiveGatherV2", g.grad(), PlainAttrs());
  if (g.attr<std::string>("final_op", "Id") == "Div") dx = dx / Cast(g.input(1), g.output_dtype(0));
  g.Add(0, dx);
}

absl::Status PartOfRows(ShapeContext& c) {
  PartialShape shape = c.input(0);
  if (!shape.has_rank() || shape.rank() == 0) return absl::OkStatus();
  const std::optional<int64_t> size = c.input_int(1);
  const bool is_known = size && *size > 0 && shape.dim(0) >= 0;
  shape.set_dim(0, is_known ? shape.dim(0) / *size : -1);
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

void RegisterCollectiveReduceScatterV2(OpRegistry& ops) {
  ops.Add({
      .schema =
          "CollectiveReduceScatterV2(input: T, group_size: int32, group_key: int32, instance_key: "
          "int32, ordering_token: Nordering_token * resource) -> data: T "
          "{T: {bfloat16, float, half, double, int32, int64}; "
          "merge_op: {'Min', 'Max', 'Mul', 'Add'}; final_op: {'Id', 'Div'}; "
          "communication_hint: string = 'auto'; timeout_seconds: float = 0; "
          "is_stateless: bool = false; Nordering_token: int >= 0 = 0; "
          "max_subdivs_per_device: int = -1}",
      .doc = "Reduces a tensor over the ranks of a group and gives each its part of the rows.",
      .traits = {.effect = Effect::kIo},
      .shape = PartOfRows,
      .gradient = {ReduceScatterGradient},
      .kernel = Compute<&RunKeyed<Collective::Kind::kReduceScatter>>(),
  });
}

}  // namespace gyre
