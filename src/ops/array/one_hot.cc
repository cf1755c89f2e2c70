// OneHot: `on` where an index says, `off` elsewhere.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct OneHotAttrs {
  explicit OneHotAttrs(const Node& node) : axis(NodeAttr<int64_t>(node, "axis")) {}
  int64_t axis;  // -1: last
};

absl::StatusOr<int> NewAxis(int64_t axis, int rank) {
  if (axis < -1 || axis > rank) {
    return absl::InvalidArgumentError(absl::StrCat("Expected axis to be -1 or between [0, ",
                                                   rank + 1, "). But received: ", axis));
  }
  return static_cast<int>(axis == -1 ? rank : axis);
}

// Sets out[prefix, index, suffix] to `on` for each index that is in range.
template <typename T, typename Index>
absl::Status SetOn(const KernelContext& ctx, const Tensor& indices, int64_t depth, int64_t suffix,
                   const T& on, Tensor& out) {
  const auto values = indices.values<Index>();
  T* to = static_cast<T*>(out.mutable_raw_data());
  const auto n = static_cast<int64_t>(values.size());
  Mover<T> mover(ctx, out);
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, n, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<int64_t>(values[i]);
      if (index < 0 || index >= depth) continue;
      mover.Set(to[(i / suffix * depth + index) * suffix + i % suffix], on);
    }
  }));
  return mover.status();
}

absl::Status ComputeOneHot(KernelContext& ctx, const OneHotAttrs& attrs) {
  const Tensor& indices = ctx.input(0);
  const Tensor& on = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(const int axis, NewAxis(attrs.axis, indices.rank()));
  GYRE_ASSIGN_OR_RETURN(const int64_t depth, IntegerScalar(ctx.input(1), "depth"));
  if (depth < 0) {
    return absl::InvalidArgumentError(absl::StrCat("depth must be non-negative, got: ", depth));
  }
  for (int i = 2; i <= 3; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(i == 2 ? "on_value" : "off_value",
                     " must be a scalar, but got: ", ctx.input(i).shape().ToString()));
  }
  Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
  dims.insert(dims.begin() + axis, depth);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(on.dtype(), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(FillWith(ctx, ctx.input(3), out));
    int64_t suffix = 1;
    for (int d = axis + 1; d < shape.rank(); ++d) suffix *= shape.dim(d);
    GYRE_RETURN_IF_ERROR(VisitElement(on.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T& value = *static_cast<const T*>(on.raw_data());
      return VisitType<AnyIndexTypes>(indices.dtype(), [&](auto index_tag) {
        return SetOn<T, typename decltype(index_tag)::type>(ctx, indices, depth, suffix, value,
                                                            out);
      });
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status OneHotRule(ShapeContext& ctx) {
  for (int i = 1; i <= 3; ++i) GYRE_RETURN_IF_ERROR(ctx.RequireScalar(i));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const int axis, NewAxis(NodeAttr<int64_t>(ctx.node(), "axis"), in.rank()));
  const int64_t depth = ctx.input_int(1).value_or(-1);
  Dims dims(in.dims().begin(), in.dims().end());
  dims.insert(dims.begin() + axis, depth < 0 ? -1 : depth);
  ctx.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status OneHotBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input(1), c.input(2), c.input(3)},
                {{"axis", c.shifted_axis_attr(-1)}});
}

}  // namespace

void RegisterOneHot(OpRegistry& ops) {
  ops.Add({
      .schema = "OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> output: T "
                "{axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = int64}",
      .doc = "One element per class along a new axis: `on` at the index, `off` elsewhere.",
      .shape = OneHotRule,
      .gradient = NotDifferentiable("the positions are integers"),
      .batch = {OneHotBatch},
      .kernel = Compute<ComputeOneHot>(),
  });
}

}  // namespace gyre
