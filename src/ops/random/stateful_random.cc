#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/random/distributions.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <Distribution kDistribution>
absl::Status Floats(KernelContext& ctx, const SeedAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(Tensor out, RandomFloats(ctx, kDistribution, attrs.generator(ctx),
                                                 ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status IntegersInRange(KernelContext& ctx, const SeedAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, RandomIntegers(ctx, attrs.generator(ctx), ctx.input(1), ctx.input(2), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status DrawKey(KernelContext& ctx, const SeedAttrs& attrs) {
  const auto [key, stream] = ctx.RandomKey(attrs.seed, attrs.seed2);
  return SetKeyAndCounter(ctx, {key, {0, stream}});
}

absl::Status IntegersShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  return ShapedByInput(c);
}

// Other numbers for each row.
absl::Status RandomBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(0));
  std::vector<Expr> inputs = {c.with_rows(c.input(0))};
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return c.Emit(inputs);
}

template <Distribution kDistribution>
void AddFloats(OpRegistry& ops, absl::string_view name, absl::string_view drawn_again_by,
               absl::string_view doc) {
  const std::string schema =
      absl::StrCat(name,
                   "(shape: T) -> output: dtype {seed: int = 0; seed2: int = 0; "
                   "dtype: {half, bfloat16, float, double}; T: indextype}");
  ops.Add({
      .schema = schema,
      .doc = doc,
      .traits = {.effect = Effect::kRandom, .drawn_again_by = drawn_again_by},
      .shape = ShapedByInput,
      .gradient = NotDifferentiable("random numbers do not depend on differentiable inputs"),
      .batch = {RandomBatch},
      .kernel = Compute<&Floats<kDistribution>>(),
  });
}

}  // namespace

void RegisterStatefulRandom(OpRegistry& ops) {
  AddFloats<Distribution::kUniform>(ops, "RandomUniform", "StatelessRandomUniformV2",
                                    "Random numbers of [0, 1), new ones each time.");
  AddFloats<Distribution::kNormal>(ops, "RandomStandardNormal", "StatelessRandomNormalV2",
                                   "Normally distributed random numbers, new ones each time.");
  AddFloats<Distribution::kTruncatedNormal>(
      ops, "TruncatedNormal", "StatelessTruncatedNormalV2",
      "Normally distributed random numbers of (-2, 2), new ones each time.");
  ops.Add({
      .schema = "RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> output: Tout "
                "{seed: int = 0; seed2: int = 0; Tout: indextype; T: indextype}",
      .doc = "Random integers of [minval, maxval), new ones each time.",
      .traits = {.effect = Effect::kRandom, .drawn_again_by = "StatelessRandomUniformIntV2"},
      .shape = IntegersShape,
      .gradient = NotDifferentiable("its result is integers"),
      .batch = {RandomBatch},
      .kernel = Compute<&IntegersInRange>(),
  });
  ops.Add({
      .schema = "_DrawKey() -> key: uint64, counter: uint64 {seed: int = 0; seed2: int = 0}",
      .doc = "The key and the counter of the numbers that a random op of this name and these seeds "
             "draws here and now.",
      .traits = {.effect = Effect::kRandom},
      .shape = KeyAndCounterShape,
      .gradient = NotDifferentiable("keys are integers"),
      .kernel = Compute<&DrawKey>(),
  });
}

}  // namespace gyre
