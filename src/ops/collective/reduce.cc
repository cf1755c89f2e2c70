// CollectiveReduceV2: what all ranks bring, merged, for each of them.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/collective/kernels.h"

namespace gyre {
namespace {

// The gradient of each rank's loss by what this rank brings, summed over the ranks: all ranks take
// gradients alike.
void ReduceGradient(GradientContext& g) {
  const std::string merge = g.attr<std::string>("merge_op", "Add");
  const std::string final_op = g.attr<std::string>("final_op", "Id");
  int number = 0;
  const auto reduced = [&](Expr value, absl::string_view merged_by, absl::string_view then) {
    return CollectiveOfGradient(g, "CollectiveReduceV2", value, ReductionAttrs(merged_by, then),
                                number++);
  };
  if (merge == "Add") return g.Add(0, reduced(g.grad(), "Add", final_op));
  Expr dy = reduced(g.grad(), "Add", "Id");
  if (final_op == "Div") dy = dy / Cast(g.input(1), g.output_dtype(0));
  const Expr x = g.input(0);
  if (merge == "Mul") {
    // The product of what the others bring: of all, divided by this one; where this one is 0, of
    // all that are not.
    const Expr zero = ZerosLike(x);
    const Expr is_zero = g.op("Equal", {x, zero});
    const Expr zeros = reduced(Cast(is_zero, g.output_dtype(0)), "Add", "Id");
    const Expr product = reduced(Where(is_zero, OnesLike(x), x), "Mul", "Id");
    const Expr alone = Where(g.op("Equal", {zeros, OnesLike(x)}), product, zero);
    const Expr among =
        Where(g.op("Equal", {zeros, zero}), product / Where(is_zero, OnesLike(x), x), zero);
    return g.Add(0, dy * Where(is_zero, alone, among));
  }
  Expr extremum = g.output(0);
  if (final_op == "Div") extremum = reduced(x, merge, "Id");
  // Shared by the ranks that have the extremum.
  const Expr has_it = Cast(g.op("Equal", {x, extremum}), g.output_dtype(0));
  g.Add(0, dy * has_it / reduced(has_it, "Add", "Id"));
}

}  // namespace

void RegisterCollectiveReduceV2(OpRegistry& ops) {
  ops.Add({
      .schema =
          "CollectiveReduceV2(input: T, group_size: int32, group_key: int32, instance_key: int32, "
          "ordering_token: Nordering_token * resource) -> data: T "
          "{T: {bfloat16, float, half, double, int32, int64}; "
          "merge_op: {'Min', 'Max', 'Mul', 'Add'}; final_op: {'Id', 'Div'}; "
          "communication_hint: string = 'auto'; timeout_seconds: float = 0; "
          "is_stateless: bool = false; Nordering_token: int >= 0 = 0; "
          "max_subdivs_per_device: int = -1}",
      .doc = "Reduces a tensor over the ranks of a group and gives each the result.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::SameAsInput,
      .gradient = {ReduceGradient},
      .kernel = Compute<&RunKeyed<Collective::Kind::kReduce>>(),
  });
}

}  // namespace gyre
