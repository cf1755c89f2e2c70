// Reshape, Squeeze, ExpandDims, EnsureShape: the same elements under another (or a checked) shape,
// without a copy.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ir/simplify_context.h"
#include "ops/array/integers.h"
#include "ops/array/rule_dims.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The product of the dimensions that are positive; nullopt when it does not fit 64 bits.
std::optional<int64_t> PositiveProduct(absl::Span<const int64_t> dims) {
  std::optional<int64_t> product = 1;
  for (const int64_t dim : dims) {
    if (product && dim > 0) product = CheckedMul(*product, dim);
  }
  return product;
}

// The size that -1 stands for when an empty tensor becomes one with 0 among its sizes: what follows
// from the others if zeros are left out on both sides. So [0,4] by sizes [0,-1] stays [0,4].
absl::StatusOr<int64_t> SizeBesideZero(const Shape& input, absl::Span<const int64_t> sizes) {
  const std::optional<int64_t> elements = PositiveProduct(input.dims());
  const std::optional<int64_t> product = PositiveProduct(sizes);
  if (elements && product) return *elements / *product;
  return absl::InvalidArgumentError(absl::StrCat("the size that -1 stands for in ",
                                                 ListToString(sizes), " does not fit 64 bits"));
}

// The shape that `sizes` asks of a tensor like `input`; at most one size may be -1.
absl::StatusOr<Shape> ResolveSizes(const Shape& input, Dims sizes) {
  const int64_t elements = input.num_elements();
  int unknown = -1;
  int64_t product = 1;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Only one input size may be -1, not both ", unknown, " and ", i));
      }
      unknown = i;
    } else if (sizes[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Size ", i, " must be non-negative, not ", sizes[i]));
    } else if (const auto next = CheckedMul(product, sizes[i])) {
      product = *next;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("the number of elements of shape ",
                                                     ListToString(sizes), " does not fit 64 bits"));
    }
  }
  if (unknown >= 0) {
    if (product == 0 && elements == 0) {
      GYRE_ASSIGN_OR_RETURN(sizes[unknown], SizeBesideZero(input, sizes));
    } else if (product == 0 || elements % product != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input to reshape is a tensor with ", elements,
                       " values, but the requested shape requires a multiple of ", product));
    } else {
      sizes[unknown] = elements / product;
      product = elements;
    }
  }
  if (product != elements) {
    return absl::InvalidArgumentError(absl::StrCat("Input to reshape is a tensor with ", elements,
                                                   " values, but the requested shape has ",
                                                   product));
  }
  return Shape::Make(sizes);
}

absl::Status ComputeReshape(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(Dims sizes, IntegerList(ctx.input(1), "sizes input"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ResolveSizes(ctx.input(0).shape(), std::move(sizes)));
  ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
  return absl::OkStatus();
}

void PassHandle(ShapeContext& ctx) {
  if (ctx.input_handle(0)) ctx.set_output_handle(0, *ctx.input_handle(0));
}

absl::Status ReshapeRule(ShapeContext& ctx) {
  PassHandle(ctx);
  if (!ctx.input(1).has_rank()) return absl::OkStatus();
  if (ctx.input(1).rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes input must be 1-D, but has shape ", ctx.input(1).ToString()));
  }
  if (ctx.input(1).rank() == 0) {  // old graphs: one size
    ctx.set_output(0, PartialShape::UnknownOfRank(1));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape target, ctx.InputAsShape(1));
  const auto input = ctx.input(0).ToShape();
  if (input && target.has_rank()) {
    const auto dims = target.dims();
    const auto unknown = std::count(dims.begin(), dims.end(), -1);
    const bool ambiguous = unknown > 1 || (unknown == 1 && std::count(dims.begin(), dims.end(), 0));
    // A size of -1 in a constant is a request; elsewhere it stands for a value yet to come.
    if (!ambiguous || ctx.input_ints(1)) {
      GYRE_ASSIGN_OR_RETURN(const Shape shape,
                            ResolveSizes(*input, Dims(dims.begin(), dims.end())));
      target = shape;
    }
  }
  ctx.set_output(0, std::move(target));
  return absl::OkStatus();
}

struct SqueezeAttrs {
  explicit SqueezeAttrs(const AttrMap& attrs)
      : dims(attrs.GetOr<std::vector<int64_t>>("squeeze_dims", {})) {}
  explicit SqueezeAttrs(const Node& node) : SqueezeAttrs(node.attrs) {}
  std::vector<int64_t> dims;  // empty: all of size 1
};

absl::StatusOr<PartialShape> SqueezedShape(const PartialShape& in, const SqueezeAttrs& attrs) {
  if (!in.has_rank()) return PartialShape::Unknown();
  const auto dims = in.dims();
  if (attrs.dims.empty() && std::count(dims.begin(), dims.end(), -1) > 0) {
    return PartialShape::Unknown();
  }
  absl::InlinedVector<bool, 8> dropped(in.rank(), false);
  for (const int64_t axis : attrs.dims) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tried to squeeze dim index ", axis, " for tensor with ", in.rank(), " dimensions."));
    }
    dropped[axis < 0 ? axis + in.rank() : axis] = true;
  }
  Dims kept;
  for (int i = 0; i < in.rank(); ++i) {
    if (dropped[i] && in.dim(i) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Can not squeeze dim[", i, "], expected a dimension of 1, got ", in.dim(i)));
    }
    if (dropped[i] && in.dim(i) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Can not squeeze dim[", i, "], expected a dimension of 1, got 0"));
    }
    if (!dropped[i] && (!attrs.dims.empty() || in.dim(i) != 1)) kept.push_back(in.dim(i));
  }
  return PartialShape(std::move(kept));
}

absl::Status ComputeSqueeze(KernelContext& ctx, const SqueezeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape squeezed, SqueezedShape(ctx.input(0).shape(), attrs));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(squeezed.dims()));
  ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
  return absl::OkStatus();
}

absl::Status SqueezeRule(ShapeContext& ctx) {
  PassHandle(ctx);
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, SqueezedShape(ctx.input(0), SqueezeAttrs(ctx.attrs())));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::StatusOr<Dims> ExpandedDims(absl::Span<const int64_t> dims, int64_t axis) {
  const int rank = static_cast<int>(dims.size());
  if (axis < -rank - 1 || axis > rank) {
    return absl::InvalidArgumentError(absl::StrCat("Tried to expand dim index ", axis,
                                                   " for tensor with ", rank, " dimensions."));
  }
  Dims expanded(dims.begin(), dims.end());
  expanded.insert(expanded.begin() + (axis < 0 ? axis + rank + 1 : axis), 1);
  return expanded;
}

absl::Status ComputeExpandDims(KernelContext& ctx) {
  if (ctx.input(1).num_elements() != 1) {
    return absl::InvalidArgumentError("'dim' must be a tensor with a single value");
  }
  GYRE_ASSIGN_OR_RETURN(const Dims axis, IntegerElements(ctx.input(1), "'dim'"));
  GYRE_ASSIGN_OR_RETURN(const Dims dims, ExpandedDims(ctx.input(0).shape().dims(), axis[0]));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
  return absl::OkStatus();
}

absl::Status ExpandDimsRule(ShapeContext& ctx) {
  PassHandle(ctx);
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return absl::OkStatus();
  if (const auto axis = ctx.input_int(1)) {
    GYRE_ASSIGN_OR_RETURN(Dims dims, ExpandedDims(in.dims(), *axis));
    ctx.set_output(0, PartialShape(std::move(dims)));
    // A known scalar becomes a known list of one.
    if (const auto value = ctx.input_int(0); value && in.rank() == 0 && *value >= 0) {
      SetDims(ctx, 0, PartialShape(Dims{*value}));
    }
  } else {
    ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() + 1));
  }
  return absl::OkStatus();
}

struct EnsureShapeAttrs {
  explicit EnsureShapeAttrs(const Node& node) : shape(NodeAttr<PartialShape>(node, "shape")) {}
  PartialShape shape;
};

absl::Status ComputeEnsureShape(KernelContext& ctx, const EnsureShapeAttrs& attrs) {
  if (!attrs.shape.Allows(ctx.input(0).shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape of tensor input ", ctx.input(0).shape().ToString(),
                     " is not compatible with expected shape ", attrs.shape.ToString(), "."));
  }
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status EnsureShapeRule(ShapeContext& ctx) {
  PassHandle(ctx);
  GYRE_ASSIGN_OR_RETURN(PartialShape shape,
                        ctx.input(0).Intersect(NodeAttr<PartialShape>(ctx.node(), "shape")));
  ctx.set_output(0, std::move(shape));
  if (auto dims = KnownDims(ctx, 0)) SetDims(ctx, 0, *std::move(dims));
  return absl::OkStatus();
}

void ReshapeGradient(GradientContext& g) { g.Add(0, Reshape(g.grad(), g.input_dims(0))); }

// One dimension that comes or goes is known by its axis, whatever the shape.
void SqueezeGradient(GradientContext& g) {
  const auto axes = g.attr<std::vector<int64_t>>("squeeze_dims", {});
  if (axes.size() != 1) return ReshapeGradient(g);
  g.Add(0, g.op("ExpandDims", {g.grad(), g.builder().Int(static_cast<int32_t>(axes[0]))}));
}

void ExpandDimsGradient(GradientContext& g) {
  const auto axis = KnownInteger(g, 1);
  if (!axis) return ReshapeGradient(g);
  g.Add(0, g.op("Squeeze", {g.grad()}, {{"squeeze_dims", std::vector<int64_t>{*axis}}}));
}

// What a shape for Reshape says for a row, without a -1, which many rows, or none, would make
// ambiguous.
Expr ReshapeDims(BatchContext& c) {
  if (const std::optional<Shape> known = c.output_row_shape(0).ToShape()) {
    const std::vector<int32_t> dims(known->dims().begin(), known->dims().end());
    return c.builder().Ints(dims);
  }
  const Expr dims = Cast(c.input(1), DType::kInt32);
  const Expr axis = c.builder().Ints({0});
  const Expr size = c.op("Prod", {c.row_dims(0), axis});
  const Expr others = c.op("Maximum", {-c.op("Prod", {dims, axis}), c.builder().Int(1)});
  return Where(c.op("Less", {dims, c.builder().Int(0)}), c.op("FloorDiv", {size, others}), dims);
}

absl::Status ReshapeBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.with_rows(ReshapeDims(c))}, {{"Tshape", DType::kInt32}});
}

absl::Status ExpandDimsBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

absl::Status SqueezeBatch(BatchContext& c) {
  std::vector<int64_t> axes = c.attr<std::vector<int64_t>>("squeeze_dims", {});
  if (axes.empty()) {
    const PartialShape& shape = c.row_shape(0);
    if (!shape.IsFullyKnown()) return batch::Refuse("which axes have size 1 is not known");
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.dim(i) == 1) axes.push_back(i);
    }
    if (axes.empty()) return c.EmitAs("Identity", {c.input(0)});
  }
  for (int64_t& axis : axes) axis += axis < 0 ? 0 : 1;
  return c.Emit({c.input(0)}, {{"squeeze_dims", axes}});
}

// Of a chain of reshapes only the last one counts: the elements stay.
void ReshapeSimplify(SimplifyContext& s) {
  const Node* inner = s.Maker(0, "Reshape");
  if (inner != nullptr && s.IsFree(s.InputOf(*inner, 1))) {
    const Endpoint source = s.InputOf(*inner, 0);
    s.Edit().inputs[0] = source;
  }
  simplify::IfShapeStays(s);
}

}  // namespace

void RegisterReshape(OpRegistry& ops) {
  ops.Add({
      .schema = "Reshape(tensor: T, shape: Tshape) -> output: T {T: type; "
                "Tshape: {int32, int64} = int32}",
      .doc = "The same elements under another shape; one size may be -1 and is inferred.",
      .traits = {.is_view = true},
      .shape = ReshapeRule,
      .gradient = {ReshapeGradient},
      .batch = {ReshapeBatch},
      .simplify = ReshapeSimplify,
      .kernel = Compute<ComputeReshape>(),
  });
  ops.Add({
      .schema = "Squeeze(input: T) -> output: T {T: type; squeeze_dims: list(int) >= 0 = []}",
      .doc = "Removes dimensions of size 1: all of them, or those listed.",
      .traits = {.is_view = true},
      .shape = SqueezeRule,
      .gradient = {SqueezeGradient},
      .batch = {SqueezeBatch},
      .kernel = Compute<ComputeSqueeze>(),
  });
  ops.Add({
      .schema = "ExpandDims(input: T, dim: Tdim) -> output: T {T: type; "
                "Tdim: {int32, int64} = int32}",
      .doc = "Inserts a dimension of size 1.",
      .traits = {.is_view = true},
      .shape = ExpandDimsRule,
      .gradient = {ExpandDimsGradient},
      .batch = {ExpandDimsBatch},
      .kernel = Compute<ComputeExpandDims>(),
  });
  ops.Add({
      .schema = "EnsureShape(input: T) -> output: T {shape: shape; T: type}",
      .doc = "Its input, once that is known to have the promised shape.",
      .traits = {.hands_on = true},
      .shape = EnsureShapeRule,
      .gradient = {gradient::PassOn},
      .batch = {batch::ShapeAttr},
      .kernel = Compute<ComputeEnsureShape>(),
  });
}

}  // namespace gyre
