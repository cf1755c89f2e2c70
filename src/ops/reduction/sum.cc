#include "ops/reduction/sum.h"

#include "ir/batch_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/reduction_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
struct SumReducer {
  using In = T;
  using Acc = Accumulator<T>;
  static Acc Identity() { return Acc{}; }
  static Acc Load(T x) { return ToAccumulator(x); }
  static Acc Combine(Acc a, Acc b) { return a + b; }
  T Finish(Acc sum, int64_t count) const {
    return mean ? MeanOf<T>(sum, count) : FromAccumulator<T>(sum);
  }
  bool mean;
};

template <typename T>
struct SumKernel {
  static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
    return ReduceInput(ctx, attrs.keep_dims, SumReducer<T>{.mean = false});
  }
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return ReduceDense(inputs, outputs, ReduceAttrs(node).keep_dims, SumReducer<T>{.mean = false});
  }
};

template <typename T>
struct MeanKernel {
  static absl::Status Run(KernelContext& ctx, const ReduceAttrs& attrs) {
    return ReduceInput(ctx, attrs.keep_dims, SumReducer<T>{.mean = true});
  }
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return ReduceDense(inputs, outputs, ReduceAttrs(node).keep_dims, SumReducer<T>{.mean = true});
  }
};

// How many elements went into each one of the result, as a number of their type.
Expr ReducedCount(GradientContext& g) {
  if (const std::optional<int64_t> count = KnownReducedCount(g)) {
    return g.builder().Scalar(g.output_dtype(0), static_cast<double>(*count));
  }
  const Expr first = g.builder().Int(0);
  const Expr sizes = g.op("GatherV2", {g.input_dims(0), ReducedAxes(g), first});
  return Cast(g.op("Prod", {sizes, first}), g.output_dtype(0));
}

}  // namespace

absl::StatusOr<Tensor> SumOver(const KernelContext& ctx, const Tensor& tensor,
                               const ReducedDims& reduced, bool keep_dims) {
  if (ReducesNothing(tensor.shape(), reduced))
    return tensor.Reshaped(ReducedShape(tensor.shape(), reduced, keep_dims));
  Tensor result;
  GYRE_RETURN_IF_ERROR(VisitType<NumberTypes>(tensor.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    GYRE_ASSIGN_OR_RETURN(result,
                          Reduce(ctx, tensor, reduced, keep_dims, SumReducer<T>{.mean = false}));
    return absl::OkStatus();
  }));
  return result;
}

std::optional<DenseCode> DenseSumOver(DType dtype, const Shape& shape, const ReducedDims& reduced) {
  std::optional<DenseCode> code;
  VisitType<NumberTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    code = ReduceDense(shape, reduced, SumReducer<T>{.mean = false});
    return absl::OkStatus();
  }).IgnoreError();  // others have none
  return code;
}

void RegisterSum(OpRegistry& ops) {
  ops.Add({
      .schema = "Sum(input: T, reduction_indices: Tidx) -> output: T "
                "{keep_dims: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "Adds up the elements along the given dimensions.",
      .shape = ReductionShape,
      .gradient = {[](GradientContext& g) { g.Add(0, SpreadToInput(g, g.grad())); }},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<SumKernel, NumberTypes>("T"),
  });
  ops.Add({
      .schema = "Mean(input: T, reduction_indices: Tidx) -> output: T "
                "{keep_dims: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "Averages the elements along the given dimensions; integers are rounded towards zero.",
      .shape = ReductionShape,
      .gradient = {[](GradientContext& g) {
        g.Add(0, SpreadToInput(g, g.grad() / ReducedCount(g)));
      }},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<MeanKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre
