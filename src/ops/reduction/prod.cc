#include "ir/batch_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/reduction_gradient.h"
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
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return ReduceDense(inputs, outputs, ReduceAttrs(node).keep_dims, ProdReducer<T>());
  }
};

// For each element of `x` the product of the others along `axis`; no division, so zeros are fine.
Expr ProductOfOthers(GradientContext& g, Expr x, Expr axis) {
  const Expr before = g.op("Cumprod", {x, axis}, {{"exclusive", true}});
  const Expr behind = g.op("Cumprod", {x, axis}, {{"exclusive", true}, {"reverse", true}});
  return Conj(before * behind);
}

// The axes that are not reduced.
Expr OtherAxes(GradientContext& g, Expr reduced) {
  if (const std::optional<ReducedDims> known = KnownReducedDims(g)) {
    std::vector<int32_t> others;
    for (size_t i = 0; i < known->size(); ++i) {
      if (!(*known)[i]) others.push_back(static_cast<int32_t>(i));
    }
    return g.builder().Ints(others);
  }
  const Expr rank = Reshape(g.op("Size", {g.input_dims(0)}), g.builder().Ints({1}));
  const Expr column = g.op("ExpandDims", {reduced, g.builder().Int(1)});
  const Expr times_reduced = g.op("ScatterNd", {column, OnesLike(reduced), rank});
  const Expr others = g.op("Where", {g.op("Equal", {times_reduced, g.builder().Int(0)})});
  return Cast(Reshape(others, g.builder().Ints({-1})), DType::kInt32);
}

// The same along several axes: they are moved to the front and put together into one.
Expr ProductOfOthers(GradientContext& g, Expr x) {
  const Expr first = g.builder().Int(0);
  const auto sizes = [&](Expr axes) { return g.op("GatherV2", {g.input_dims(0), axes, first}); };
  const auto count = [&](Expr axes) { return g.op("Prod", {sizes(axes), first}); };
  const Expr reduced = ReducedAxes(g);
  const Expr others = OtherAxes(g, reduced);
  const Expr order = g.op("ConcatV2", {reduced, others, first});
  const Expr rows = g.op("Pack", {count(reduced), count(others)});
  const Expr product = ProductOfOthers(g, Reshape(g.op("Transpose", {x, order}), rows), first);
  return g.op("Transpose", {Reshape(product, sizes(order)), g.op("InvertPermutation", {order})});
}

void ProdGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const std::optional<Shape> axes = g.input_shape(1).ToShape();
  const bool is_one = axes && axes->num_elements() == 1;
  const Expr others =
      is_one ? ProductOfOthers(g, g.input(0), Reshape(g.input(1), g.builder().Ints({})))
             : ProductOfOthers(g, g.input(0));
  g.Add(0, AlongInput(g, g.grad()) * others);
}

}  // namespace

void RegisterProd(OpRegistry& ops) {
  ops.Add({
      .schema = "Prod(input: T, reduction_indices: Tidx) -> output: T "
                "{keep_dims: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "Multiplies the elements along the given dimensions.",
      .shape = ReductionShape,
      .gradient = {ProdGradient},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<ProdKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre
