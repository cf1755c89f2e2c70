// Where the generators of the random ops come from.
#pragma once

#include "absl/status/statusor.h"
#include "ops/kernel.h"
#include "ops/random/philox.h"

namespace gyre {

// The algorithm's number on the wire.
inline constexpr int kPhiloxAlgorithm = 1;

// Key and counter that a stateless op derives from its seed.
struct KeyAndCounter {
  uint64_t key;
  uint64_t counter[2];

  Philox generator() const { return Philox(key, counter[0], counter[1]); }
};

// From input i: a seed of two integers. INVALID_ARGUMENT for another shape.
absl::StatusOr<KeyAndCounter> SeedInput(const KernelContext& ctx, int i);

// From the inputs (key, counter, alg) that start at input i.
absl::StatusOr<Philox> GeneratorInputs(const KernelContext& ctx, int i);

// The seeds that a graph gives to a stateful op.
struct SeedAttrs {
  explicit SeedAttrs(const Node& node)
      : seed(NodeAttr<int64_t>(node, "seed")), seed2(NodeAttr<int64_t>(node, "seed2")) {}
  int64_t seed;
  int64_t seed2;

  // For this execution of the node.
  Philox generator(const KernelContext& ctx) const {
    const auto [key, stream] = ctx.RandomKey(seed, seed2);
    return Philox(key, 0, stream);
  }
};

// Outputs 0 and 1, [1] and [2]: the key and the counter, as GeneratorInputs takes them.
absl::Status SetKeyAndCounter(KernelContext& ctx, const KeyAndCounter& drawn);
absl::Status KeyAndCounterShape(ShapeContext& c);

// Input 0 as the shape of the output. INVALID_ARGUMENT unless it is a vector of dimensions.
absl::StatusOr<Shape> OutputShape(const KernelContext& ctx);

// The shape rule of ops whose first input is the shape of their only output.
absl::Status ShapedByInput(ShapeContext& c);

}  // namespace gyre
