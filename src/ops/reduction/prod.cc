#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/reduction/reduce.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
struct ProdReducer {
  using In = T;
  using Acc = Accumulator<T>;
  static Acc Identity() { return Acc{1}; }
  static Acc Load(T x) { return ToAccumulator(x); }
  static Acc Combine(Acc a, Acc b) { return Product(a, b); }
  static T Finish(Acc product, int64_t) { return FromAccumulator<T>(product); }
};

template <typename T>
struct ProdKernel {
  static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
    return ReduceInput(ctx, attrs.keep_dims, ProdReducer<T>());
  }
};

}  // namespace

void RegisterProd(OpRegistry& ops) {
  ops.Add({
      .schema = "Prod(input: T, reduction_indices: Tidx) -> output: T "
                "{keep_dims: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "Multiplies the elements along the given dimensions.",
      .shape = ReductionShape,
      .kernel = ForTypes<ProdKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre
