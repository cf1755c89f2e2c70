// Pack, Unpack: joining tensors along a new axis, and taking one apart along an axis.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/object_code.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct AxisAttr {
  explicit AxisAttr(const Node& node) : axis(NodeAttr<int64_t>(node, "axis")) {}
  int64_t axis;
};

absl::StatusOr<int> AxisBelow(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis = ", axis, " not in [", -rank, ", ", rank, ")"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// Number of elements of `shape` from dimension `begin` on.
int64_t ElementsFrom(const Shape& shape, int begin) {
  int64_t n = 1;
  for (int d = begin; d < shape.rank(); ++d) n *= shape.dim(d);
  return n;
}

absl::Status ComputePack(KernelContext& ctx, const AxisAttr& attrs) {
  const Shape& each = ctx.input(0).shape();
  const int n = ctx.num_inputs();
  for (int i = 1; i < n; ++i) {
    if (ctx.input(i).shape() != each) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shapes of all inputs must match: values[0].shape = ", each.ToString(),
                       " != values[", i, "].shape = ", ctx.input(i).shape().ToString()));
    }
  }
  GYRE_ASSIGN_OR_RETURN(const int axis, AxisBelow(attrs.axis, each.rank() + 1));
  Dims dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin() + axis, n);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (n == 1) {
    ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  const int64_t row = ElementsFrom(each, axis);
  const int64_t rows = row == 0 ? 0 : each.num_elements() / row;
  for (int i = 0; i < n; ++i) {
    GYRE_RETURN_IF_ERROR(
        CopyStrided(ctx, ctx.input(i), 0, out, i * row, {{rows, row, n * row}, {row, 1, 1}}));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// For generated code: a vector of N scalars.
template <int N>
struct PackCodes {
  template <typename T>
  struct Code {
    static constexpr absl::string_view kInputs = absl::string_view("xxxxxxxx").substr(0, N);
    static constexpr absl::string_view kOutputs = "T";
    static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
      try {
        absl::StatusOr<Tensor> vector = Tensor::Make(DTypeOf<T>, Shape::Vector(N), alloc);
        if (!vector.ok()) return false;
        char* const to = static_cast<char*>(vector->mutable_raw_data());
        for (int i = 0; i < N; ++i) std::memcpy(to + i * sizeof(T), operands[i], sizeof(T));
        *static_cast<Tensor*>(operands[N]) = *std::move(vector);
        return true;
      } catch (const std::bad_alloc&) {
        return false;
      }
    }
  };
};

// Of up to eight inputs, which may be scalars.
template <int N>
absl::StatusOr<Kernel> BindPack(const Node& node) {
  const KernelFactory kernel = Compute<ComputePack>();
  if (const int64_t axis = AxisAttr(node).axis; axis != 0 && axis != -1) return kernel(node);
  if (NodeAttr<int64_t>(node, "N") == N)
    return WithObjectCode<PackCodes<N>::template Code>("T", kernel)(node);
  if constexpr (N < 8) return BindPack<N + 1>(node);
  return kernel(node);
}

// The list that scalars used as dimensions make.
void PackDims(ShapeContext& ctx) {
  Dims dims;
  bool any_known = false;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const auto value = ctx.input_int(i);
    if (value && *value < -1) return;
    any_known |= value.has_value();
    dims.push_back(value.value_or(-1));
  }
  if (any_known) SetDims(ctx, 0, PartialShape(std::move(dims)));
}

absl::Status PackRule(ShapeContext& ctx) {
  PartialShape each;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    absl::StatusOr<PartialShape> both = each.Intersect(ctx.input(i));
    if (!both.ok()) return Annotate(both.status(), "Shapes of all inputs must match");
    each = *std::move(both);
  }
  if (!each.has_rank()) return absl::OkStatus();
  const int64_t wanted = NodeAttr<int64_t>(ctx.node(), "axis");
  GYRE_ASSIGN_OR_RETURN(const int axis, AxisBelow(wanted, each.rank() + 1));
  Dims dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin() + axis, ctx.num_inputs());
  ctx.set_output(0, PartialShape(std::move(dims)));
  if (each.rank() == 0) PackDims(ctx);
  return absl::OkStatus();
}

absl::Status ComputeUnpack(KernelContext& ctx, const AxisAttr& attrs) {
  const Tensor value = ctx.TakeInput(0);
  const Shape& shape = value.shape();
  GYRE_ASSIGN_OR_RETURN(const int axis, AxisBelow(attrs.axis, shape.rank()));
  const int64_t n = ctx.num_outputs();
  if (shape.dim(axis) != n) {
    return absl::InvalidArgumentError(absl::StrCat("Input shape axis ", axis, " must equal ", n,
                                                   ", got shape ", shape.ToString()));
  }
  Dims dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + axis);
  GYRE_ASSIGN_OR_RETURN(const Shape each, Shape::Make(dims));
  const int64_t row = ElementsFrom(each, axis);
  const int64_t rows = row == 0 ? 0 : each.num_elements() / row;
  int64_t until_poll = kElementGrain;
  for (int64_t i = 0; i < n; ++i) {
    until_poll -= axis == 0 ? 1 : std::max<int64_t>(each.num_elements(), 1);
    if (until_poll <= 0) {
      until_poll = kElementGrain;
      GYRE_RETURN_IF_ERROR(ctx.Poll());
    }
    if (axis == 0) {
      GYRE_ASSIGN_OR_RETURN(Tensor part, TakeRows(ctx, value, i, 1, each));
      ctx.set_output(static_cast<int>(i), std::move(part));
      continue;
    }
    GYRE_ASSIGN_OR_RETURN(Tensor part, ctx.Allocate(value.dtype(), each));
    GYRE_RETURN_IF_ERROR(
        CopyStrided(ctx, value, i * row, part, 0, {{rows, n * row, row}, {row, 1, 1}}));
    ctx.set_output(static_cast<int>(i), std::move(part));
  }
  return absl::OkStatus();
}

absl::Status UnpackRule(ShapeContext& ctx) {
  const PartialShape& shape = ctx.input(0);
  if (!shape.has_rank()) return absl::OkStatus();
  const int64_t wanted = NodeAttr<int64_t>(ctx.node(), "axis");
  GYRE_ASSIGN_OR_RETURN(const int axis, AxisBelow(wanted, shape.rank()));
  if (shape.dim(axis) >= 0 && shape.dim(axis) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("Input shape axis ", axis, " must equal ",
                                                   ctx.num_outputs(), ", got shape ",
                                                   shape.ToString()));
  }
  Dims dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + axis);
  const auto values = KnownDims(ctx, 0);
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, PartialShape(dims));
    if (values && i < values->rank()) SetIntScalar(ctx, i, values->dim(i));
  }
  return absl::OkStatus();
}

void PackGradient(GradientContext& g) {
  const int n = g.num_inputs();
  const std::vector<Expr> slices = g.builder().Ops(
      "Unpack", {g.grad()}, {{"num", int64_t{n}}, {"axis", g.attr<int64_t>("axis", 0)}}, n);
  for (int i = 0; i < n; ++i) g.Add(i, slices[i]);
}

void UnpackGradient(GradientContext& g) {
  std::vector<Expr> slices;
  for (int i = 0; i < g.num_outputs(); ++i) slices.push_back(g.grad(i));
  g.Add(0, g.op("Pack", std::move(slices), {{"axis", g.attr<int64_t>("axis", 0)}}));
}

// Pack, Unpack.
absl::Status AlongAxisBatch(BatchContext& c) {
  return c.Emit(c.stacked_inputs(0, c.num_inputs()), {{"axis", c.shifted_axis_attr(0)}});
}

}  // namespace

void RegisterPack(OpRegistry& ops) {
  ops.Add({
      .schema = "Pack(values: N * T) -> output: T {N: int >= 1; T: type; axis: int = 0}",
      .doc = "Stacks tensors of one shape along a new axis.",
      .traits = {.moves_elements = true},
      .shape = PackRule,
      .gradient = {PackGradient},
      .batch = {AlongAxisBatch},
      .kernel = BindPack<1>,
  });
  ops.Add({
      .schema = "Unpack(value: T) -> output: num * T {num: int >= 0; T: type; axis: int = 0}",
      .doc = "The slices of a tensor along an axis, which disappears.",
      .traits = {.moves_elements = true},
      .shape = UnpackRule,
      .gradient = {UnpackGradient},
      .batch = {AlongAxisBatch},
      .kernel = Compute<ComputeUnpack>(),
  });
}

}  // namespace gyre
