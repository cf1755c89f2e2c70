#include "ir/gradient_context.h"

#include <optional>

namespace gyre {
namespace {

// The axes of `to` along which a `from` was broadcast, as far as that is certain: all of them, or
// none. Axes whose size may be 1 are summed over, which changes nothing then.
std::optional<std::vector<int32_t>> BroadcastAxes(const PartialShape& from,
                                                  const PartialShape& to) {
  if (!to.has_rank() || !from.IsFullyKnown() || from.rank() > to.rank()) return std::nullopt;
  std::vector<int32_t> axes;
  const int added = to.rank() - from.rank();
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (axis < added || (from.dim(axis - added) == 1 && to.dim(axis) != 1)) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

void GradientContext::AddBroadcast(int i, Expr contribution) {
  if (!wants(i)) return;
  const auto axes = BroadcastAxes(input_shape(i), output_shape(0));
  if (axes && axes->empty()) return Add(i, contribution);
  const Expr to = input_dims(i);
  const Expr summed_over =
      axes ? builder().Ints(*axes) : op("BroadcastGradientArgs", {to, output_dims(0)});
  Add(i, Reshape(Sum(contribution, summed_over), to));
}

namespace gradient {

void PassOn(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.wants(i) && g.has_grad(i)) g.Add(i, g.grad(i));
  }
}

}  // namespace gradient
}  // namespace gyre
