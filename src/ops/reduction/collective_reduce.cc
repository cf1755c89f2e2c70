#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A group of one needs no peers: whatever is merged, and divided by one, is the input.
absl::Status CollectiveReduce(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t group_size, ctx.IntScalar(1, "group_size"));
  if (group_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_size must be at least 1, but is ", group_size));
  }
  if (group_size > 1) {
    return absl::UnimplementedError(absl::StrCat(
        "a reduction over ", group_size,
        " members needs a collective transport between them, which this run does not have"));
  }
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
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
      .doc = "Reduces a tensor over the members of a group and gives each the result.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::SameAsInput,
      .gradient = RefusesGradient("the gradients of all members would have to be reduced, too"),
      .kernel = Compute<&CollectiveReduce>(),
  });
}

}  // namespace gyre
