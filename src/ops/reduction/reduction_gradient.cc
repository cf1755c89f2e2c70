#include "ops/reduction/reduction_gradient.h"

#include <algorithm>

namespace gyre {
namespace {

// The axes, where they are constant.
std::optional<std::vector<int64_t>> KnownAxes(const GradientContext& g) {
  const Tensor* axes = g.input_constant(1);
  if (axes == nullptr) return std::nullopt;
  if (axes->dtype() == DType::kInt32) {
    const auto values = axes->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  const auto values = axes->values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

bool HasOneElement(const PartialShape& shape) {
  const std::optional<Shape> known = shape.ToShape();
  return known && known->num_elements() == 1;
}

// The input's shape with the reduced dimensions as 1, as far as it is known.
PartialShape KeptShape(const PartialShape& input, const ReducedDims& reduced) {
  PartialShape kept = input;
  for (int i = 0; i < kept.rank(); ++i) {
    if (reduced[i]) kept.set_dim(i, 1);
  }
  return kept;
}

// The same when it runs: an int32 vector.
Expr KeptDims(GradientContext& g) {
  const Expr dims = g.input_dims(0);
  const Expr axes = ReducedAxes(g);
  const Expr all = g.op("Range", {g.builder().Int(0), g.op("Size", {dims}), g.builder().Int(1)});
  return g.op("DynamicStitch", {all, axes, dims, OnesLike(axes)});
}

}  // namespace

std::optional<ReducedDims> KnownReducedDims(const GradientContext& g) {
  const std::optional<std::vector<int64_t>> axes = KnownAxes(g);
  if (!axes || !g.input_shape(0).has_rank()) return std::nullopt;
  absl::StatusOr<ReducedDims> reduced = MakeReducedDims(*axes, g.input_shape(0).rank());
  if (!reduced.ok()) return std::nullopt;
  return *std::move(reduced);
}

std::optional<int64_t> KnownReducedCount(const GradientContext& g) {
  const std::optional<ReducedDims> reduced = KnownReducedDims(g);
  if (!reduced) return std::nullopt;
  Dims sizes;
  for (size_t i = 0; i < reduced->size(); ++i) {
    if ((*reduced)[i]) sizes.push_back(g.input_shape(0).dim(static_cast<int>(i)));
  }
  const std::optional<Shape> known = PartialShape(sizes).ToShape();
  return known ? std::optional<int64_t>(known->num_elements()) : std::nullopt;
}

Expr ReducedAxes(GradientContext& g) {
  if (const std::optional<ReducedDims> reduced = KnownReducedDims(g)) {
    std::vector<int32_t> axes;
    for (size_t i = 0; i < reduced->size(); ++i) {
      if ((*reduced)[i]) axes.push_back(static_cast<int32_t>(i));
    }
    return g.builder().Ints(axes);
  }
  Expr axes = Cast(g.input(1), DType::kInt32);
  const PartialShape& shape = g.input_shape(1);
  if (!shape.has_rank() || shape.rank() != 1) axes = Reshape(axes, g.builder().Ints({-1}));
  return g.op("FloorMod", {axes, g.op("Size", {g.input_dims(0)})});
}

Expr AlongInput(GradientContext& g, Expr x) {
  if (g.attr<bool>("keep_dims", false)) return x;
  if (const std::optional<ReducedDims> reduced = KnownReducedDims(g)) {
    // Dimensions in front are added by broadcasting itself.
    const auto kept = std::find(reduced->begin(), reduced->end(), false);
    if (std::find(kept, reduced->end(), true) == reduced->end()) return x;
  }
  if (HasOneElement(g.input_shape(1))) return g.op("ExpandDims", {x, g.input(1)});
  if (const std::optional<ReducedDims> reduced = KnownReducedDims(g)) {
    const auto kept = gradient::AsReshape(KeptShape(g.input_shape(0), *reduced));
    if (kept) return Reshape(x, g.builder().Ints(*kept));
  }
  return Reshape(x, KeptDims(g));
}

Expr SpreadToInput(GradientContext& g, Expr x) {
  const PartialShape& input = g.input_shape(0);
  if (input.IsFullyKnown() && input == g.output_shape(0)) return x;
  return g.op("BroadcastTo", {AlongInput(g, x), g.input_dims(0)});
}

}  // namespace gyre
