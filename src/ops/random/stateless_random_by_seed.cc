#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/random/distributions.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Inputs: shape, seed.
template <Distribution kDistribution>
absl::Status Floats(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, RandomFloats(ctx, kDistribution, seeded.generator(), ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Inputs: shape, seed, minval, maxval.
absl::Status IntegersInRange(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        RandomIntegers(ctx, seeded.generator(), ctx.input(2), ctx.input(3), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status AllIntegers(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        RandomBits(ctx, seeded.generator(), ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SeededShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(1)).status());
  for (int i = 2; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  return ShapedByInput(c);
}

template <Distribution kDistribution>
void AddFloats(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  const std::string schema =
      absl::StrCat(name,
                   "(shape: T, seed: Tseed) -> output: dtype {dtype: {half, bfloat16, float, "
                   "double} = float; T: indextype = int32; Tseed: indextype = int64}");
  ops.Add({
      .schema = schema,
      .doc = doc,
      .shape = SeededShape,
      .gradient = NotDifferentiable("random numbers do not depend on differentiable inputs"),
      .kernel = Compute<&Floats<kDistribution>>(),
  });
}

}  // namespace

void RegisterStatelessRandomBySeed(OpRegistry& ops) {
  AddFloats<Distribution::kUniform>(ops, "StatelessRandomUniform",
                                    "Random numbers of [0, 1), determined by a seed.");
  AddFloats<Distribution::kNormal>(ops, "StatelessRandomNormal",
                                   "Normally distributed random numbers, determined by a seed.");
  AddFloats<Distribution::kTruncatedNormal>(
      ops, "StatelessTruncatedNormal",
      "Normally distributed random numbers of (-2, 2), determined by a seed.");
  ops.Add({
      .schema = "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> "
                "output: dtype {dtype: indextype; T: indextype; Tseed: indextype = int64}",
      .doc = "Random integers of [minval, maxval), determined by a seed.",
      .shape = SeededShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = Compute<&IntegersInRange>(),
  });
  ops.Add({
      .schema = "StatelessRandomUniformFullInt(shape: T, seed: Tseed) -> output: dtype {dtype: "
                "{int32, int64, uint32, uint64} = uint64; T: indextype = int32; Tseed: {int32, "
                "int64, uint32, uint64} = int64}",
      .doc = "Random integers of all of their type, determined by a seed.",
      .shape = SeededShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = Compute<&AllIntegers>(),
  });
}

}  // namespace gyre
