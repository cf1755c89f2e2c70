// Generators whose state is a variable of three integers: counter (low half, high half) and key of
// Philox. RngSkip and RngReadAndSkip move them on; the Stateful… ops draw from where they are, and
// move them on by what is reserved for so many elements.
#include "ops/random/rng_state.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/random/distributions.h"
#include "ops/random/rejection.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

constexpr int kStateSize = 3;
// Blocks that an element has to itself. The number is part of the format.
constexpr uint64_t kReserved = 256;

absl::Status RequireScalar(const KernelContext& ctx, int i, absl::string_view what) {
  if (ctx.input(i).rank() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be a scalar, but its shape is ", ctx.input(i).shape().ToString()));
}

absl::Status CheckAlgorithm(const KernelContext& ctx, int i) {
  GYRE_RETURN_IF_ERROR(RequireScalar(ctx, i, "algorithm"));
  GYRE_ASSIGN_OR_RETURN(const int64_t algorithm, ctx.IntScalar(i, "algorithm"));
  constexpr int kAutomatic = 3;
  if (algorithm == kPhiloxAlgorithm || algorithm == kAutomatic) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm ", algorithm, " is not supported: it must be 1 (Philox) or 3 (automatic)"));
}

// What the variable of input 0 holds, which is then moved on by so many blocks.
absl::StatusOr<std::array<uint64_t, kStateSize>> ReadAndSkip(const KernelContext& ctx,
                                                             uint64_t blocks) {
  GYRE_ASSIGN_OR_RETURN(VariableObject* const variable, VariableInput(ctx, 0, DType::kInt64));
  const VariableLock lock(*variable);
  Tensor& state = lock.value(*variable);
  GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, state));
  if (state.rank() != 1 || state.dim(0) < kStateSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state of a generator must be a vector of at least ", kStateSize,
                     " elements, but its shape is ", state.shape().ToString()));
  }
  GYRE_RETURN_IF_ERROR(MakeWritable(ctx, state));
  int64_t* words = static_cast<int64_t*>(state.mutable_raw_data());
  std::array<uint64_t, kStateSize> before;
  std::copy_n(words, kStateSize, before.begin());
  const uint64_t low = before[0] + blocks;
  words[0] = static_cast<int64_t>(low);
  words[1] = static_cast<int64_t>(before[1] + (low < blocks ? 1 : 0));
  return before;
}

}  // namespace

absl::StatusOr<Philox> TakeGenerator(const KernelContext& ctx, uint64_t elements) {
  GYRE_RETURN_IF_ERROR(CheckAlgorithm(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(const auto state, ReadAndSkip(ctx, elements * kReserved));
  return Philox(state[2], state[0], state[1]);
}

namespace {

absl::StatusOr<Shape> ShapeOfOutput(const KernelContext& ctx) {
  if (ctx.input(2).rank() == 1) return ctx.ShapeInput(2, "shape");
  return absl::InvalidArgumentError(
      absl::StrCat("shape must be a vector, but its shape is ", ctx.input(2).shape().ToString()));
}

template <typename Draw>
absl::Status Fill(KernelContext& ctx, const Draw& draw) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfOutput(ctx));
  GYRE_ASSIGN_OR_RETURN(const Philox generator,
                        TakeGenerator(ctx, static_cast<uint64_t>(shape.num_elements())));
  GYRE_ASSIGN_OR_RETURN(Tensor out, draw(generator, shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <Distribution kDistribution>
absl::Status Floats(KernelContext& ctx) {
  return Fill(ctx, [&](const Philox& generator, const Shape& shape) {
    return RandomFloats(ctx, kDistribution, generator, ctx.output_dtype(0), shape);
  });
}

absl::Status Bits(KernelContext& ctx) {
  return Fill(ctx, [&](const Philox& generator, const Shape& shape) {
    return RandomBits(ctx, generator, ctx.output_dtype(0), shape);
  });
}

absl::Status IntegersInRange(KernelContext& ctx) {
  return Fill(ctx, [&](const Philox& generator, const Shape& shape) {
    return RandomIntegers(ctx, generator, ctx.input(3), ctx.input(4), shape);
  });
}

absl::Status Skip(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(CheckAlgorithm(ctx, 1));
  GYRE_RETURN_IF_ERROR(RequireScalar(ctx, 2, "delta"));
  GYRE_ASSIGN_OR_RETURN(const int64_t delta, ctx.IntScalar(2, "delta"));
  return ReadAndSkip(ctx, static_cast<uint64_t>(delta) * kReserved).status();
}

absl::Status ReadThenSkip(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(CheckAlgorithm(ctx, 1));
  GYRE_RETURN_IF_ERROR(RequireScalar(ctx, 2, "delta"));
  const uint64_t delta = *static_cast<const uint64_t*>(ctx.input(2).raw_data());
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, Shape::Vector(kStateSize)));
  GYRE_ASSIGN_OR_RETURN(const auto state, ReadAndSkip(ctx, delta * kReserved));
  std::copy(state.begin(), state.end(), static_cast<int64_t*>(out.mutable_raw_data()));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status AnyIntegers(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  std::random_device device;
  const auto word = [&] { return device() | static_cast<uint64_t>(device()) << 32; };
  const uint64_t key = word(), low = word(), high = word();
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        RandomBits(ctx, Philox(key, low, high), ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status FilledShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i != 2) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(2));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status SkipShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  if (c.num_outputs() > 0) c.set_output(0, Shape::Vector(kStateSize));
  return absl::OkStatus();
}

constexpr absl::string_view kNoGradient = "random numbers do not depend on differentiable inputs";

void AddFilled(OpRegistry& ops, absl::string_view name, absl::string_view more,
               absl::string_view dtype, KernelFactory kernel, absl::string_view doc) {
  const std::string schema =
      absl::StrCat(name, "(resource: resource, algorithm: int64, shape: shape_dtype", more,
                   ") -> output: dtype {dtype: type = ", dtype, "; shape_dtype: type = int64}");
  ops.Add({.schema = schema,
           .doc = doc,
           .traits = {.effect = Effect::kWrite},
           .shape = FilledShape,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterRngState(OpRegistry& ops) {
  AddFilled(ops, "StatefulUniform", "", "float", Compute<&Floats<Distribution::kUniform>>(),
            "Random numbers of [0, 1), from a generator in a variable, which moves on.");
  AddFilled(ops, "StatefulStandardNormalV2", "", "float", Compute<&Floats<Distribution::kNormal>>(),
            "Normally distributed random numbers, from a generator in a variable, which moves on.");
  AddFilled(ops, "StatefulTruncatedNormal", "", "float",
            Compute<&Floats<Distribution::kTruncatedNormal>>(),
            "Normally distributed random numbers of (-2, 2), from a generator in a variable, which "
            "moves on.");
  AddFilled(ops, "StatefulUniformFullInt", "", "uint64", Compute<&Bits>(),
            "Random integers of all of their type, from a generator in a variable, which moves "
            "on.");
  AddFilled(ops, "StatefulUniformInt", ", minval: dtype, maxval: dtype", "int64",
            Compute<&IntegersInRange>(),
            "Random integers of [minval, maxval), from a generator in a variable, which moves on.");
  ops.Add({.schema = "RngSkip(resource: resource, algorithm: int64, delta: int64) -> {}",
           .doc = "Moves a generator in a variable on by what `delta` elements have reserved.",
           .traits = {.effect = Effect::kWrite},
           .shape = SkipShape,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = Compute<&Skip>()});
  ops.Add({.schema = "RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: "
                     "int64 {}",
           .doc = "The state of a generator in a variable, which then moves on by what `delta` "
                  "elements have reserved.",
           .traits = {.effect = Effect::kWrite},
           .shape = SkipShape,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = Compute<&ReadThenSkip>()});
  ops.Add({.schema = "NonDeterministicInts(shape: shape_dtype) -> output: dtype {dtype: type = "
                     "int64; shape_dtype: type = int64}",
           .doc = "Random integers of all of their type that no seed determines.",
           .traits = {.effect = Effect::kRandom},
           .shape = ShapedByInput,
           .gradient = NotDifferentiable(kNoGradient),
           .kernel = Compute<&AnyIntegers>()});
}

}  // namespace gyre
