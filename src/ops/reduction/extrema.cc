#include <limits>

#include "ir/batch_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/reduction_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A NaN among the elements is the result.
template <typename T, bool kMax>
struct ExtremumReducer {
  using In = T;
  using Acc = std::conditional_t<kIsSmallFloat<T>, float, T>;
  static Acc Identity() {
    using Limits = std::numeric_limits<Acc>;
    if constexpr (Limits::has_infinity) return kMax ? -Limits::infinity() : Limits::infinity();
    return kMax ? Limits::lowest() : Limits::max();
  }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) {
    const bool keep = kMax ? a > b : a < b;
    return keep || a != a ? a : b;
  }
  static T Finish(Acc extremum, int64_t) { return static_cast<T>(extremum); }
};

template <typename T>
struct MaxKernel {
  static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
    return ReduceInput(ctx, attrs.keep_dims, ExtremumReducer<T, true>());
  }
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return ReduceDense(inputs, outputs, ReduceAttrs(node).keep_dims, ExtremumReducer<T, true>());
  }
};

template <typename T>
struct MinKernel {
  static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
    return ReduceInput(ctx, attrs.keep_dims, ExtremumReducer<T, false>());
  }
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return ReduceDense(inputs, outputs, ReduceAttrs(node).keep_dims, ExtremumReducer<T, false>());
  }
};

// Elements that are equally large share the gradient.
void ExtremumGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Expr is_chosen = g.op("Equal", {g.input(0), AlongInput(g, g.output(0))});
  const Expr chosen = Cast(is_chosen, g.output_dtype(0));
  const Expr count = Sum(chosen, g.input(1), /*keep_dims=*/true);
  g.Add(0, chosen / count * AlongInput(g, g.grad()));
}

}  // namespace

void RegisterExtrema(OpRegistry& ops) {
  ops.Add({
      .schema = "Max(input: T, reduction_indices: Tidx) -> output: T {keep_dims: bool = false; "
                "T: {realnumbertype, quantizedtype}; Tidx: indextype = int32}",
      .doc =
          "The largest element along the given dimensions; of none, the smallest value there is.",
      .shape = ReductionShape,
      .gradient = {ExtremumGradient},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<MaxKernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "Min(input: T, reduction_indices: Tidx) -> output: T {keep_dims: bool = false; "
                "T: {realnumbertype, quantizedtype}; Tidx: indextype = int32}",
      .doc =
          "The smallest element along the given dimensions; of none, the largest value there is.",
      .shape = ReductionShape,
      .gradient = {ExtremumGradient},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<MinKernel, RealTypes>("T"),
  });
}

}  // namespace gyre
