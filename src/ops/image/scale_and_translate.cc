// ScaleAndTranslate: images resampled by a filter, at any scale and place; and its adjoint.
#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/rule_dims.h"
#include "ops/image/resample.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::Filter;
using image::ImageDims;
using image::Order;
using image::Taps;

struct FilterAttrs {
  static absl::StatusOr<FilterAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const Filter filter,
                          image::FilterNamed(NodeAttr<std::string>(node, "kernel_type")));
    return FilterAttrs{filter, NodeAttr<bool>(node, "antialias")};
  }
  Filter filter;
  bool antialias;
};

// For rows and columns, from input i.
absl::StatusOr<std::array<float, 2>> Pair(const KernelContext& ctx, int i, absl::string_view what) {
  const Tensor& pair = ctx.input(i);
  if (pair.rank() != 1 || pair.dim(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have two elements, but its shape is ", pair.shape().ToString()));
  }
  const auto values = pair.values<float>();
  return std::array<float, 2>{values[0], values[1]};
}

// The tables for an input of the first size and an output of the second.
struct Tables {
  Taps rows, columns;
};
absl::StatusOr<Tables> MakeTables(const KernelContext& ctx, const FilterAttrs& attrs,
                                  std::array<int64_t, 2> in, std::array<int64_t, 2> out) {
  GYRE_ASSIGN_OR_RETURN(const auto scale, Pair(ctx, ctx.num_inputs() - 2, "scale"));
  GYRE_ASSIGN_OR_RETURN(const auto shift, Pair(ctx, ctx.num_inputs() - 1, "translation"));
  if (!(scale[0] > 0 && scale[1] > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scale must be greater than zero, got [", scale[0], ",", scale[1], "]"));
  }
  Tables tables;
  GYRE_ASSIGN_OR_RETURN(tables.rows, FilterTaps(ctx, attrs.filter, in[0], out[0], scale[0],
                                                shift[0], attrs.antialias));
  GYRE_ASSIGN_OR_RETURN(tables.columns, FilterTaps(ctx, attrs.filter, in[1], out[1], scale[1],
                                                   shift[1], attrs.antialias));
  return tables;
}

absl::Status SetEmpty(KernelContext& ctx, const Shape& shape) {
  GYRE_ASSIGN_OR_RETURN(Tensor empty, ctx.Allocate(ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(empty));
  return absl::OkStatus();
}

absl::Status ScaleAndTranslate(KernelContext& ctx, const FilterAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(ctx.input(0), "images"));
  GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 1, "size"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, size[0], size[1], dims.channels}));
  if (shape.num_elements() == 0) return SetEmpty(ctx, shape);
  GYRE_ASSIGN_OR_RETURN(const Tables tables,
                        MakeTables(ctx, attrs, {dims.height, dims.width}, size));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        image::Resample(ctx, ctx.input(0), dims, tables.rows, tables.columns,
                                        Order::kRowsFirst, DType::kFloat));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ScaleAndTranslateAdjoint(KernelContext& ctx, const FilterAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(ctx.input(0), "grads"));
  GYRE_ASSIGN_OR_RETURN(const ImageDims original,
                        image::SampledDims(ctx.input(1), "original_image"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, original.height, original.width, dims.channels}));
  if (shape.num_elements() == 0) return SetEmpty(ctx, shape);
  GYRE_ASSIGN_OR_RETURN(
      const Tables tables,
      MakeTables(ctx, attrs, {original.height, original.width}, {dims.height, dims.width}));
  GYRE_ASSIGN_OR_RETURN(const Taps rows, tables.rows.Transposed(ctx, original.height));
  GYRE_ASSIGN_OR_RETURN(const Taps columns, tables.columns.Transposed(ctx, original.width));
  GYRE_ASSIGN_OR_RETURN(Tensor out, image::Resample(ctx, ctx.input(0), dims, rows, columns,
                                                    Order::kRowsFirst, DType::kFloat));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status AdjointShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "grads"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 1, 4, "original_image"));
  c.set_output(0, PartialShape(Dims{image::DimOr(c, 0, 0), image::DimOr(c, 1, 1),
                                    image::DimOr(c, 1, 2), image::DimOr(c, 0, 3)}));
  return absl::OkStatus();
}

AttrMap FilterOf(const GradientContext& g) {
  return {{"kernel_type", g.attr<std::string>("kernel_type", "lanczos3")},
          {"antialias", g.attr<bool>("antialias", true)}};
}

void Gradient0(GradientContext& g) {
  if (!g.wants(0) || !IsFloating(g.input_dtype(0))) return;
  const Expr image = Cast(g.input(0), DType::kFloat);
  const Expr adjoint =
      g.op("ScaleAndTranslateGrad", {g.grad(), image, g.input(2), g.input(3)}, FilterOf(g));
  g.Add(0, Cast(adjoint, g.input_dtype(0)));
}

void AdjointGradient(GradientContext& g) {
  const Expr size = RuleDims::OfInput(g, 0).Part(1, 3);
  g.Add(0, g.op("ScaleAndTranslate", {g.grad(), size, g.input(2), g.input(3)}, FilterOf(g)));
}

}  // namespace

void RegisterScaleAndTranslate(OpRegistry& ops) {
  ops.Add({
      .schema = "ScaleAndTranslate(images: T, size: int32, scale: float, translation: float) -> "
                "resized_images: float {T: {int8, uint8, int16, uint16, int32, int64, bfloat16, "
                "half, float, double}; kernel_type: string = 'lanczos3'; antialias: bool = true}",
      .doc = "Images scaled and moved, each pixel a sum of pixels weighted by a filter.",
      .shape = image::ResizedShape,
      .gradient = {Gradient0},
      .kernel = Compute<&ScaleAndTranslate>(),
  });
  ops.Add({
      .schema = "ScaleAndTranslateGrad(grads: T, original_image: T, scale: float, "
                "translation: float) -> output: T {T: {float}; kernel_type: string = 'lanczos3'; "
                "antialias: bool = true}",
      .doc = "The gradient of ScaleAndTranslate by its images, given that of what it makes.",
      .shape = AdjointShape,
      .gradient = {AdjointGradient},
      .kernel = Compute<&ScaleAndTranslateAdjoint>(),
  });
}

}  // namespace gyre
