#include "ir/batch_context.h"
#include "ops/reduction/reduce.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Booleans as bytes: any byte but 0 counts as true.
template <bool kAll>
struct LogicalReducer {
  using In = uint8_t;
  using Acc = uint8_t;
  static Acc Identity() { return kAll ? 1 : 0; }
  static Acc Load(uint8_t x) { return x != 0 ? 1 : 0; }
  static Acc Combine(Acc a, Acc b) { return kAll ? a & b : a | b; }
  static uint8_t Finish(Acc value, int64_t) { return value; }
};

template <bool kAll>
absl::Status ReduceLogical(KernelContext& ctx, const ReduceAttrs& attrs) {
  return ReduceInput(ctx, attrs.keep_dims, LogicalReducer<kAll>());
}

}  // namespace

void RegisterLogicalReductions(OpRegistry& ops) {
  ops.Add({
      .schema = "All(input: bool, reduction_indices: Tidx) -> output: bool "
                "{keep_dims: bool = false; Tidx: indextype = int32}",
      .doc = "Whether all elements along the given dimensions are true.",
      .shape = ReductionShape,
      .gradient = NotDifferentiable("its result is boolean"),
      .batch = {batch::AlongAxes},
      .kernel = Compute<&ReduceLogical<true>>(),
  });
  ops.Add({
      .schema = "Any(input: bool, reduction_indices: Tidx) -> output: bool "
                "{keep_dims: bool = false; Tidx: indextype = int32}",
      .doc = "Whether an element along the given dimensions is true.",
      .shape = ReductionShape,
      .gradient = NotDifferentiable("its result is boolean"),
      .batch = {batch::AlongAxes},
      .kernel = Compute<&ReduceLogical<false>>(),
  });
}

}  // namespace gyre
