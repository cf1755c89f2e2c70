#include "ops/random/seeding.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"

namespace gyre {

absl::StatusOr<KeyAndCounter> SeedInput(const KernelContext& ctx, int i) {
  const Tensor& seed = ctx.input(i);
  if (seed.rank() != 1 || seed.dim(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("seed must have shape [2], not ", seed.shape().ToString()));
  }
  std::array<uint64_t, 2> words;
  using SeedTypes = Types<int32_t, int64_t, uint32_t, uint64_t>;
  GYRE_RETURN_IF_ERROR(VisitType<SeedTypes>(seed.dtype(), [&](auto tag) {
    const auto values = seed.values<typename decltype(tag)::type>();
    for (size_t word = 0; word < words.size(); ++word)
      words[word] = static_cast<uint64_t>(values[word]);
    return absl::OkStatus();
  }));
  // The seed is scrambled, so that it does not matter which of its bits differ. The constants are
  // part of the format.
  const Philox::Block mixed = Philox(0x02461e293ec8f720, words[0], words[1]).Current();
  const auto join = [](uint32_t low, uint32_t high) {
    return low | static_cast<uint64_t>(high) << 32;
  };
  return KeyAndCounter{join(mixed[0], mixed[1]), {0, join(mixed[2], mixed[3])}};
}

absl::StatusOr<Philox> GeneratorInputs(const KernelContext& ctx, int i) {
  const Tensor& key = ctx.input(i);
  const Tensor& counter = ctx.input(i + 1);
  GYRE_ASSIGN_OR_RETURN(const int64_t algorithm, ctx.IntScalar(i + 2, "alg"));
  constexpr int kAutomatic = 3;
  if (algorithm != kPhiloxAlgorithm && algorithm != kAutomatic) {
    return absl::InvalidArgumentError(absl::StrCat(
        "alg ", algorithm, " is not supported: it must be 1 (Philox) or 3 (automatic)"));
  }
  if (key.rank() != 1 || key.dim(0) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("key must have shape [1], not ", key.shape().ToString()));
  }
  if (counter.rank() != 1 || counter.dim(0) < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "counter must be a vector of two elements, but its shape is ", counter.shape().ToString()));
  }
  const absl::Span<const uint64_t> words = counter.values<uint64_t>();
  return Philox(key.values<uint64_t>()[0], words[0], words.size() > 1 ? words[1] : 0);
}

absl::Status SetKeyAndCounter(KernelContext& ctx, const KeyAndCounter& drawn) {
  GYRE_ASSIGN_OR_RETURN(Tensor key, ctx.Allocate(DType::kUint64, Shape::Vector(1)));
  GYRE_ASSIGN_OR_RETURN(Tensor counter, ctx.Allocate(DType::kUint64, Shape::Vector(2)));
  key.mutable_values<uint64_t>()[0] = drawn.key;
  std::copy(std::begin(drawn.counter), std::end(drawn.counter),
            counter.mutable_values<uint64_t>().begin());
  ctx.set_output(0, std::move(key));
  ctx.set_output(1, std::move(counter));
  return absl::OkStatus();
}

absl::Status KeyAndCounterShape(ShapeContext& c) {
  c.set_output(0, Shape::Vector(1));
  c.set_output(1, Shape::Vector(2));
  return absl::OkStatus();
}

absl::StatusOr<Shape> OutputShape(const KernelContext& ctx) {
  if (ctx.input(0).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector, but its shape is ", ctx.input(0).shape().ToString()));
  }
  return ctx.ShapeInput(0, "shape");
}

absl::Status ShapedByInput(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(0));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace gyre
