#include "ir/shape_context.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status GetKeyAndCounter(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 0));
  GYRE_RETURN_IF_ERROR(SetKeyAndCounter(ctx, seeded));
  if (ctx.num_outputs() > 2) ctx.set_output(2, Tensor::Scalar(int32_t{kPhiloxAlgorithm}));
  return absl::OkStatus();
}

absl::Status GetAlg(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar(int32_t{kPhiloxAlgorithm}));
  return absl::OkStatus();
}

absl::Status ShapesOfSeed(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(0)).status());
  GYRE_RETURN_IF_ERROR(KeyAndCounterShape(c));
  if (c.num_outputs() > 2) c.set_output(2, Shape());
  return absl::OkStatus();
}

}  // namespace

void RegisterStatelessRandomKey(OpRegistry& ops) {
  ops.Add({
      .schema = "StatelessRandomGetKeyCounter(seed: Tseed) -> key: uint64, counter: uint64 "
                "{Tseed: indextype = int64}",
      .doc = "The key and the counter that a seed stands for.",
      .shape = ShapesOfSeed,
      .gradient = NotDifferentiable("seeds are integers"),
      .kernel = Compute<&GetKeyAndCounter>(),
  });
  ops.Add({
      .schema = "StatelessRandomGetKeyCounterAlg(seed: Tseed) -> key: uint64, counter: uint64, "
                "alg: int32 {Tseed: indextype = int64}",
      .doc = "The key, the counter and the algorithm that a seed stands for.",
      .shape = ShapesOfSeed,
      .gradient = NotDifferentiable("seeds are integers"),
      .kernel = Compute<&GetKeyAndCounter>(),
  });
  ops.Add({
      .schema = "StatelessRandomGetAlg() -> alg: int32 {}",
      .doc = "The number of the algorithm behind the stateless random ops: 1, Philox.",
      .shape = shape::Scalar,
      .gradient = NotDifferentiable("its result is an integer"),
      .kernel = Compute<&GetAlg>(),
  });
}

}  // namespace gyre
