#include <numeric>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/random/draws.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A random order of n things, as a vector of int64 (Fisher and Yates; Durstenfeld 1964).
absl::StatusOr<Tensor> Permutation(const KernelContext& ctx, Philox generator, int64_t n) {
  GYRE_ASSIGN_OR_RETURN(Tensor permutation, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  const absl::Span<int64_t> order = permutation.mutable_values<int64_t>();
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) {
    if (i % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const Philox::Block bits = generator.Next();
    const uint64_t drawn = bits[0] | static_cast<uint64_t>(bits[1]) << 32;
    std::swap(order[i], order[drawn % static_cast<uint64_t>(i + 1)]);
  }
  return permutation;
}

// The same from the front on, with 32 bits for each step: as the peer's stateless shuffle draws it.
absl::StatusOr<Tensor> StatelessPermutation(const KernelContext& ctx, const Philox& generator,
                                            int64_t n) {
  GYRE_ASSIGN_OR_RETURN(Tensor permutation, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  const absl::Span<int64_t> order = permutation.mutable_values<int64_t>();
  std::iota(order.begin(), order.end(), 0);
  Draws draws(generator);
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (i % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const auto rest = static_cast<uint32_t>(n - i);
    std::swap(order[i], order[i + draws.Bits() % (rest == 0 ? 1 : rest)]);
  }
  return permutation;
}

// Whether there is no other order.
bool HasOneOrder(const Tensor& value) {
  return value.rank() == 0 || value.num_elements() == 0 || value.dim(0) < 2;
}

// Row i of output 0 is row order[i] of input 0.
absl::Status SetRows(KernelContext& ctx, absl::Span<const int64_t> order) {
  const Tensor& value = ctx.input(0);
  const int64_t rows = value.dim(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), value.shape()));
  const int64_t width = value.num_elements() / rows;
  GYRE_RETURN_IF_ERROR(VisitElement(value.dtype(), [&](auto tag) -> absl::Status {
    using E = typename decltype(tag)::type;
    const E* from = static_cast<const E*>(value.raw_data());
    E* to = static_cast<E*>(out.mutable_raw_data());
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / width);
    Mover<E> mover(ctx, out);
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        mover.Copy(from + order[i] * width, width, to + i * width);
      }
    }));
    return mover.status();
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status RandomShuffle(KernelContext& ctx, const SeedAttrs& attrs) {
  if (HasOneOrder(ctx.input(0))) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Tensor order,
                        Permutation(ctx, attrs.generator(ctx), ctx.input(0).dim(0)));
  return SetRows(ctx, order.values<int64_t>());
}

absl::Status StatelessShuffle(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorInputs(ctx, 1));
  if (HasOneOrder(ctx.input(0))) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Tensor order,
                        StatelessPermutation(ctx, generator, ctx.input(0).dim(0)));
  return SetRows(ctx, order.values<int64_t>());
}

// Equal elements stay what they are: the adjoint of a row goes to where it came from.
void StatelessShuffleGradient(GradientContext& g) {
  const Expr dims = g.input_dims(0);
  const Expr begin = g.builder().Ints({0}), one = g.builder().Ints({1});
  const Expr rows = Reshape(g.op("StridedSlice", {dims, begin, one, one}), g.builder().Ints({}));
  const Expr numbers = g.op("Range", {g.builder().Int(0), rows, g.builder().Int(1)});
  const Expr order = g.op("StatelessShuffle", {numbers, g.input(1), g.input(2), g.input(3)});
  g.Add(0, g.op("GatherV2", {g.grad(), g.op("InvertPermutation", {order}), g.builder().Int(0)}));
}

absl::Status StatelessShuffleShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(1)).Intersect(c.input(1)).status());
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  return shape::SameAsInput(c);
}

}  // namespace

void RegisterRandomShuffle(OpRegistry& ops) {
  ops.Add({
      .schema = "RandomShuffle(value: T) -> output: T {seed: int = 0; seed2: int = 0; T: type}",
      .doc = "The rows of a tensor in random order.",
      .traits = {.effect = Effect::kRandom},
      .shape = shape::SameAsInput,
      .gradient = RefusesGradient("the order that was drawn is not kept"),
      .kernel = Compute<&RandomShuffle>(),
  });
  ops.Add({
      .schema = "StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> output: T "
                "{T: type}",
      .doc = "The rows of a tensor in an order that key and counter determine.",
      .shape = StatelessShuffleShape,
      .gradient = {StatelessShuffleGradient},
      .kernel = Compute<&StatelessShuffle>(),
  });
}

}  // namespace gyre
