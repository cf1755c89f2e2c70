#include <numeric>

#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
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

absl::Status RandomShuffle(KernelContext& ctx, const SeedAttrs& attrs) {
  const Tensor& value = ctx.input(0);
  if (value.rank() == 0 || value.num_elements() == 0 || value.dim(0) < 2) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  const int64_t rows = value.dim(0);
  GYRE_ASSIGN_OR_RETURN(const Tensor permutation, Permutation(ctx, attrs.generator(ctx), rows));
  const absl::Span<const int64_t> order = permutation.values<int64_t>();
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
}

}  // namespace gyre
