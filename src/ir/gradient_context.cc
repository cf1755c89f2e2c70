#include "ir/gradient_context.h"

#include <algorithm>

namespace gyre {
namespace {

bool IsScalar(const PartialShape& shape) { return shape.has_rank() && shape.rank() == 0; }

// Whether all of `shapes` leave the axis that is `from_end` places before the last as it is.
bool NoneWidens(absl::Span<const PartialShape> shapes, int from_end) {
  return std::all_of(shapes.begin(), shapes.end(), [&](const PartialShape& shape) {
    return shape.has_rank() &&
           (from_end >= shape.rank() || shape.dim(shape.rank() - 1 - from_end) == 1);
  });
}

// What input i was broadcast with: the other operands, where it is known that they are that. A
// value does not widen itself.
std::vector<PartialShape> OtherOperands(const GradientContext& g, int i) {
  if (g.node().op == nullptr || !g.node().op->traits.elementwise) return {PartialShape::Unknown()};
  std::vector<PartialShape> others;
  for (int j = 0; j < g.num_inputs(); ++j) {
    if (g.node().inputs[j] != g.node().inputs[i]) others.push_back(g.input_shape(j));
  }
  return others;
}

}  // namespace

void GradientContext::AddBroadcast(int i, Expr contribution, int output) {
  if (!wants(i)) return;
  gradient::AddStretched(
      *this, i, contribution,
      gradient::StretchOf(input_shape(i), output_shape(output), OtherOperands(*this, i)));
}

namespace gradient {

void PassOn(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.wants(i) && g.has_grad(i)) g.Add(i, g.grad(i));
  }
}

std::optional<Stretch> StretchOf(const PartialShape& from, const PartialShape& to,
                                 absl::Span<const PartialShape> others) {
  if (std::all_of(others.begin(), others.end(), IsScalar)) return Stretch();
  if (!from.has_rank() || !to.has_rank() || from.rank() > to.rank()) return std::nullopt;
  Stretch stretch;
  const int added = to.rank() - from.rank();
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int64_t size = axis < added ? 1 : from.dim(axis - added);
    if (axis < added) {
      stretch.added.push_back(axis);
    } else if (to.dim(axis) == 1) {
      continue;
    } else if (size == 1) {
      stretch.widened.push_back(axis);
    } else if (size < 0 && !NoneWidens(others, to.rank() - 1 - axis)) {
      return std::nullopt;
    }
  }
  return stretch;
}

void AddStretched(GradientContext& g, int i, Expr contribution,
                  const std::optional<Stretch>& stretch) {
  if (!stretch) {
    const Expr to = g.input_dims(i);
    const Expr axes = g.op("BroadcastGradientArgs", {to, ShapeOf(contribution)});
    g.Add(i, Reshape(Sum(contribution, axes), to));
  } else if (stretch->added.empty() && stretch->widened.empty()) {
    g.Add(i, contribution);
  } else if (stretch->added.empty() || stretch->widened.empty()) {
    const bool keep_dims = stretch->added.empty();
    const Expr axes = g.builder().Ints(keep_dims ? stretch->widened : stretch->added);
    g.Add(i, Sum(contribution, axes, keep_dims));
  } else {
    std::vector<int32_t> axes = stretch->added;
    axes.insert(axes.end(), stretch->widened.begin(), stretch->widened.end());
    g.Add(i, Reshape(Sum(contribution, g.builder().Ints(axes)), g.input_dims(i)));
  }
}

Expr AppendOnes(GradientContext& g, Expr x, const PartialShape& shape, int i, int fewer) {
  const PartialShape& like = g.input_shape(i);
  Expr ones;
  if (shape.has_rank() && like.has_rank()) {
    const int n = std::max(0, like.rank() - fewer - shape.rank());
    if (n == 0) return x;
    if (n == 1) return g.op("ExpandDims", {x, g.builder().Int(-1)});
    Dims dims(shape.dims().begin(), shape.dims().end());
    dims.resize(dims.size() + n, 1);
    if (const auto to = AsReshape(PartialShape(dims))) return Reshape(x, g.builder().Ints(*to));
    ones = g.builder().Ints(std::vector<int32_t>(n, 1));
  } else {
    const Expr n = g.op("Size", {g.input_dims(i)}) - g.op("Rank", {x});
    ones = Fill(Reshape(fewer == 0 ? n : n - fewer, g.builder().Ints({1})), g.builder().Int(1));
  }
  return Reshape(x, g.op("ConcatV2", {ShapeOf(x), ones, g.builder().Int(0)}));
}

std::optional<std::vector<int32_t>> AsReshape(const PartialShape& shape) {
  if (!shape.has_rank()) return std::nullopt;
  const auto unknown = std::count(shape.dims().begin(), shape.dims().end(), -1);
  const auto zeros = std::count(shape.dims().begin(), shape.dims().end(), 0);
  if (unknown > 1 || (unknown == 1 && zeros > 0)) return std::nullopt;
  return std::vector<int32_t>(shape.dims().begin(), shape.dims().end());
}

}  // namespace gradient
}  // namespace gyre
