#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/reduction/reduce.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
struct HalfSumOfSquares {
  using In = T;
  using Acc = Accumulator<T>;
  static Acc Identity() { return Acc{0}; }
  static Acc Load(T x) { return ToAccumulator(x) * ToAccumulator(x); }
  static Acc Combine(Acc a, Acc b) { return a + b; }
  static T Finish(Acc sum, int64_t) { return static_cast<T>(sum / 2); }
};

template <typename T>
struct L2LossKernel {
  static absl::Status Run(KernelContext& ctx) {
    const ReducedDims all(ctx.input(0).rank(), true);
    GYRE_ASSIGN_OR_RETURN(Tensor loss,
                          Reduce(ctx, ctx.input(0), all, false, HalfSumOfSquares<T>()));
    ctx.set_output(0, std::move(loss));
    return absl::OkStatus();
  }
};

absl::Status L2LossBatch(BatchContext& c) {
  const Expr x = c.input(0);
  if (!x.ok()) return c.builder().status();
  ExprBuilder& b = c.builder();
  Expr axes;
  if (c.row_shape(0).has_rank()) {
    std::vector<int32_t> known(c.row_shape(0).rank());
    std::iota(known.begin(), known.end(), 1);
    axes = b.Ints(known);
  } else {
    axes = c.op("Range", {b.Int(1), c.op("Rank", {x}), b.Int(1)});
  }
  return c.EmitAs("Mul", {Sum(c.op("Square", {x}), axes), b.Scalar(x.dtype(), 0.5)});
}

}  // namespace

void RegisterL2Loss(OpRegistry& ops) {
  ops.Add({
      .schema = "L2Loss(t: T) -> output: T {T: floattype}",
      .doc = "Half the sum of the squares of all elements.",
      .api = {"nn.l2_loss"},
      .shape = shape::Scalar,
      .gradient = {[](GradientContext& g) { g.Add(0, g.input(0) * g.grad()); }},
      .batch = {L2LossBatch},
      .kernel = ForTypes<L2LossKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
