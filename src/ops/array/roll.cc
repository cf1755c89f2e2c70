// Roll: elements moved along dimensions; those that leave at one end come in at the other.
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A dimension that moves, by more than 0 and less than its size.
struct Rolled {
  int dim;
  int64_t shift;
};

absl::StatusOr<std::vector<Rolled>> RolledDims(const KernelContext& ctx) {
  const Shape& shape = ctx.input(0).shape();
  if (shape.rank() < 1) {
    return absl::InvalidArgumentError("input must have one dimension at least, but is a scalar");
  }
  for (const int i : {1, 2}) {
    if (ctx.input(i).rank() <= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == 1 ? "shift" : "axis",
                                                   " must be a scalar or a vector, but its shape "
                                                   "is ",
                                                   ctx.input(i).shape().ToString()));
  }
  if (ctx.input(1).shape() != ctx.input(2).shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shift and axis must have the same size, but have ", ctx.input(1).num_elements(), " and ",
        ctx.input(2).num_elements(), " elements, or different ranks"));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims shifts, IntegerElements(ctx.input(1), "shift"));
  GYRE_ASSIGN_OR_RETURN(const Dims axes, IntegerElements(ctx.input(2), "axis"));
  std::vector<int64_t> by(shape.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int dim, ResolveAxis(axes[i], shape.rank(), "axis"));
    const int64_t size = std::max<int64_t>(1, shape.dim(dim));
    by[dim] = ((by[dim] + shifts[i] % size) % size + size) % size;
  }
  std::vector<Rolled> rolled;
  for (int d = 0; d < shape.rank(); ++d) {
    if (by[d] != 0) rolled.push_back({d, by[d]});
  }
  return rolled;
}

absl::Status ComputeRoll(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Rolled> rolled, RolledDims(ctx));
  const Tensor& input = ctx.input(0);
  if (rolled.empty() || input.num_elements() == 0) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), input.shape()));
  const Dims strides = RowMajorStrides(input.shape());
  // Each such dimension has two parts, which change places: as many blocks as there are ways to
  // choose one of each, which are no more than elements.
  for (uint64_t choice = 0; choice >> rolled.size() == 0; ++choice) {
    StridedAxes axes;
    for (int d = 0; d < input.rank(); ++d) axes.push_back({input.dim(d), strides[d], strides[d]});
    int64_t src = 0, dst = 0;
    for (size_t i = 0; i < rolled.size(); ++i) {
      const auto [dim, shift] = rolled[i];
      const int64_t head = input.dim(dim) - shift;
      const bool is_tail = choice >> i & 1;
      axes[dim].size = is_tail ? shift : head;
      (is_tail ? src : dst) += (is_tail ? head : shift) * strides[dim];
    }
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, src, out, dst, std::move(axes)));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status RollShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() < 1) {
    return absl::InvalidArgumentError("input must have one dimension at least, but is a scalar");
  }
  for (const int i : {1, 2}) {
    if (c.input(i).has_rank() && c.input(i).rank() > 1)
      return absl::InvalidArgumentError("shift and axis must be scalars or vectors");
  }
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

void RollGradient(GradientContext& g) {
  g.Add(0, g.op("Roll", {g.grad(), g.op("Neg", {g.input(1)}), g.input(2)}));
}

absl::Status RollBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.stacked(0), c.input(1), c.shifted_axes(2)});
}

}  // namespace

void RegisterRoll(OpRegistry& ops) {
  ops.Add({.schema = "Roll(input: T, shift: Tshift, axis: Taxis) -> output: T {T: type; Tshift: "
                     "{int32, int64}; Taxis: {int32, int64}}",
           .doc = "Shifted by so many places along each axis; what leaves at one end comes in at "
                  "the other.",
           .api = {"roll"},
           .traits = {.moves_elements = true},
           .shape = RollShape,
           .gradient = {RollGradient},
           .batch = {RollBatch},
           .kernel = Compute<ComputeRoll>()});
}

}  // namespace gyre
