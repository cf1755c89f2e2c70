// Of two shapes: what they broadcast to, and along which dimensions the gradients of operands of
// these shapes are to be summed.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using Axes = std::vector<int64_t>;

// The size `from_end` places before the end (0: the last); 1 where there is none.
int64_t SizeFromEnd(const std::vector<int64_t>& dims, size_t from_end) {
  return from_end < dims.size() ? dims[dims.size() - 1 - from_end] : 1;
}

// The axes of the broadcast result in which s0, and in which s1, has size 1. Equal shapes have
// none; otherwise an axis that has size 1 in both is listed for both, as the peer does: summing
// over it changes nothing.
absl::StatusOr<std::pair<Axes, Axes>> ReductionAxes(const std::vector<int64_t>& s0,
                                                    const std::vector<int64_t>& s1) {
  std::pair<Axes, Axes> axes;
  if (s0 == s1) return axes;
  const size_t rank = std::max(s0.size(), s1.size());
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t d0 = SizeFromEnd(s0, rank - 1 - axis);
    const int64_t d1 = SizeFromEnd(s1, rank - 1 - axis);
    if (d0 != d1 && d0 != 1 && d1 != 1) {
      return absl::InvalidArgumentError(absl::StrCat("Incompatible shapes: [",
                                                     absl::StrJoin(s0, ","), "] vs. [",
                                                     absl::StrJoin(s1, ","), "]"));
    }
    if (d0 == 1) axes.first.push_back(static_cast<int64_t>(axis));
    if (d1 == 1) axes.second.push_back(static_cast<int64_t>(axis));
  }
  return axes;
}

// The shape that both broadcast to.
absl::StatusOr<Axes> BroadcastShape(const std::vector<int64_t>& s0,
                                    const std::vector<int64_t>& s1) {
  GYRE_RETURN_IF_ERROR(ReductionAxes(s0, s1).status());
  const size_t rank = std::max(s0.size(), s1.size());
  Axes shape(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t d0 = SizeFromEnd(s0, rank - 1 - axis);
    shape[axis] = d0 == 1 ? SizeFromEnd(s1, rank - 1 - axis) : d0;
  }
  return shape;
}

absl::Status SetAxes(KernelContext& ctx, int output, const Axes& axes) {
  const DType dtype = ctx.output_dtype(output);
  GYRE_ASSIGN_OR_RETURN(Tensor result,
                        ctx.Allocate(dtype, Shape::Vector(static_cast<int64_t>(axes.size()))));
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(axes.begin(), axes.end(), result.mutable_values<T>().begin(),
                   [](int64_t axis) { return static_cast<T>(axis); });
    return absl::OkStatus();
  }));
  ctx.set_output(output, std::move(result));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ReadShape(const KernelContext& ctx, int i,
                                               absl::string_view name) {
  if (ctx.input(i).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a vector, but it has shape ",
                                                   ctx.input(i).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ctx.IntVector(i, name));
  for (const int64_t d : dims) {
    if (d < 0)
      return absl::InvalidArgumentError(absl::StrCat(name, " must be a shape, but it holds ", d));
  }
  return dims;
}

absl::Status BroadcastGradientArgs(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> s0, ReadShape(ctx, 0, "s0"));
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> s1, ReadShape(ctx, 1, "s1"));
  GYRE_ASSIGN_OR_RETURN(const auto axes, ReductionAxes(s0, s1));
  GYRE_RETURN_IF_ERROR(SetAxes(ctx, 0, axes.first));
  return SetAxes(ctx, 1, axes.second);
}

absl::Status BroadcastArgs(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> s0, ReadShape(ctx, 0, "s0"));
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> s1, ReadShape(ctx, 1, "s1"));
  GYRE_ASSIGN_OR_RETURN(const Axes shape, BroadcastShape(s0, s1));
  return SetAxes(ctx, 0, shape);
}

absl::Status OneVector(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) GYRE_RETURN_IF_ERROR(c.RequireRank(i, 1));
  PartialShape shape = PartialShape::UnknownOfRank(1);
  if (c.input(0).has_rank() && c.input(1).has_rank()) {
    const int64_t n0 = c.input(0).dim(0), n1 = c.input(1).dim(0);
    if (n0 >= 0 && n1 >= 0) shape.set_dim(0, std::max(n0, n1));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status TwoVectors(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  c.set_output(0, PartialShape::UnknownOfRank(1));
  c.set_output(1, PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

}  // namespace

void RegisterBroadcastGradientArgs(OpRegistry& ops) {
  ops.Add({.schema = "BroadcastArgs(s0: T, s1: T) -> r0: T {T: {int32, int64} = int32}",
           .doc = "The shape that operands of shapes s0 and s1 broadcast to.",
           .traits = {.computes_shapes = true},
           .shape = OneVector,
           .gradient = NotDifferentiable("the operands are integers"),
           .kernel = Compute<&BroadcastArgs>()});
  ops.Add(
      {.schema = "BroadcastGradientArgs(s0: T, s1: T) -> r0: T, r1: T {T: {int32, int64} = int32}",
       .doc = "The axes over which the gradients of operands of shapes s0 and s1, broadcast "
              "together, are summed.",
       .traits = {.computes_shapes = true},
       .shape = TwoVectors,
       .gradient = NotDifferentiable("the operands are integers"),
       .kernel = Compute<&BroadcastGradientArgs>()});
}

}  // namespace gyre
