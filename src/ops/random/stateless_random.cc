#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/random/distributions.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Inputs: shape, key, counter, alg.
template <Distribution kDistribution>
absl::Status Floats(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorInputs(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        RandomFloats(ctx, kDistribution, generator, ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Inputs: shape, key, counter, alg, minval, maxval.
absl::Status IntegersInRange(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorInputs(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        RandomIntegers(ctx, generator, ctx.input(4), ctx.input(5), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status FullIntegers(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorInputs(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(Tensor out, RandomBits(ctx, generator, ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StatelessShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(1)).Intersect(c.input(1)).status());
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  for (int i = 4; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  return ShapedByInput(c);
}

template <Distribution kDistribution>
void AddFloats(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  const std::string schema =
      absl::StrCat(name,
                   "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> output: dtype "
                   "{dtype: {half, bfloat16, float, double} = float; Tshape: indextype = int32}");
  ops.Add({
      .schema = schema,
      .doc = doc,
      .shape = StatelessShape,
      .gradient = NotDifferentiable("random numbers do not depend on differentiable inputs"),
      .kernel = Compute<&Floats<kDistribution>>(),
  });
}

}  // namespace

void RegisterStatelessRandom(OpRegistry& ops) {
  AddFloats<Distribution::kUniform>(ops, "StatelessRandomUniformV2",
                                    "Random numbers of [0, 1), determined by key and counter.");
  AddFloats<Distribution::kNormal>(
      ops, "StatelessRandomNormalV2",
      "Normally distributed random numbers, determined by key and counter.");
  AddFloats<Distribution::kTruncatedNormal>(
      ops, "StatelessTruncatedNormalV2",
      "Normally distributed random numbers of (-2, 2), determined by key and counter.");
  ops.Add({
      .schema = "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, "
                "alg: int32, minval: dtype, maxval: dtype) -> output: dtype "
                "{dtype: {int32, int64, uint32, uint64}; Tshape: indextype = int32}",
      .doc = "Random integers of [minval, maxval), determined by key and counter.",
      .shape = StatelessShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = Compute<&IntegersInRange>(),
  });
  ops.Add({
      .schema = "StatelessRandomUniformFullIntV2(shape: Tshape, key: uint64, counter: uint64, "
                "alg: int32) -> output: dtype "
                "{dtype: {int32, int64, uint32, uint64} = uint64; Tshape: indextype = int32}",
      .doc = "Random integers of their type's whole range, determined by key and counter.",
      .shape = StatelessShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = Compute<&FullIntegers>(),
  });
}

}  // namespace gyre
