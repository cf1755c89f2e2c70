// Resizing images by linear and cubic interpolation and by area, and the adjoints of these.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/rule_dims.h"
#include "ops/image/resample.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;
using image::Order;
using image::Scaling;
using image::Taps;

struct ResizeAttrs {
  static absl::StatusOr<ResizeAttrs> Make(const Node& node) {
    ResizeAttrs attrs;
    attrs.scaling.align_corners = node.attrs.GetOr<bool>("align_corners", false);
    attrs.scaling.half_pixel_centers = node.attrs.GetOr<bool>("half_pixel_centers", false);
    if (attrs.scaling.align_corners && attrs.scaling.half_pixel_centers) {
      return absl::InvalidArgumentError(
          "If half_pixel_centers is True, align_corners must be False.");
    }
    return attrs;
  }
  Scaling scaling;
};

using MakeTaps = absl::StatusOr<Taps> (*)(const KernelContext&, int64_t, int64_t, const Scaling&);

template <MakeTaps kTaps, Order kOrder>
absl::Status Resize(KernelContext& ctx, const ResizeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(ctx.input(0), "images"));
  GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 1, "size"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, size[0], size[1], dims.channels}));
  if (shape.num_elements() == 0) {
    GYRE_ASSIGN_OR_RETURN(Tensor empty, ctx.Allocate(ctx.output_dtype(0), shape));
    ctx.set_output(0, std::move(empty));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Taps rows, kTaps(ctx, dims.height, size[0], attrs.scaling));
  GYRE_ASSIGN_OR_RETURN(const Taps columns, kTaps(ctx, dims.width, size[1], attrs.scaling));
  float factor = 1;
  if (kOrder == Order::kColumnsFirst) {  // of areas
    factor = static_cast<float>(1.0 / (image::ScaleOf(dims.height, size[0], attrs.scaling) *
                                       image::ScaleOf(dims.width, size[1], attrs.scaling)));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, image::Resample(ctx, ctx.input(0), dims, rows, columns, kOrder,
                                                    ctx.output_dtype(0), factor));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Inputs: the gradient of what was resized, and what it was resized from, for its size alone.
template <MakeTaps kTaps>
absl::Status ResizeAdjoint(KernelContext& ctx, const ResizeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::DimsOf(ctx.input(0), "grads"));
  GYRE_ASSIGN_OR_RETURN(const ImageDims original, image::DimsOf(ctx.input(1), "original_image"));
  if (dims.height < 1 || dims.width < 1 || original.height < 1 || original.width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("grads and original_image must have at least one row and column, but their "
                     "shapes are ",
                     ctx.input(0).shape().ToString(), " and ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, original.height, original.width, dims.channels}));
  if (shape.num_elements() == 0) {
    GYRE_ASSIGN_OR_RETURN(Tensor empty, ctx.Allocate(ctx.output_dtype(0), shape));
    ctx.set_output(0, std::move(empty));
    return absl::OkStatus();
  }
  GYRE_RETURN_IF_ERROR(image::SampledDims(ctx.input(0), "grads").status());
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (original.height >= kMost || original.width >= kMost)
    return absl::InvalidArgumentError("original_image must be less than 2^31 - 1 high and wide");
  GYRE_ASSIGN_OR_RETURN(const Taps rows, kTaps(ctx, original.height, dims.height, attrs.scaling));
  GYRE_ASSIGN_OR_RETURN(const Taps columns, kTaps(ctx, original.width, dims.width, attrs.scaling));
  GYRE_ASSIGN_OR_RETURN(const Taps from_rows, rows.Transposed(ctx, original.height));
  GYRE_ASSIGN_OR_RETURN(const Taps from_columns, columns.Transposed(ctx, original.width));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        image::Resample(ctx, ctx.input(0), dims, from_rows, from_columns,
                                        Order::kRowsFirst, ctx.output_dtype(0)));
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

AttrMap ScalingOf(const GradientContext& g) {
  return {{"align_corners", g.attr<bool>("align_corners", false)},
          {"half_pixel_centers", g.attr<bool>("half_pixel_centers", false)}};
}

void BilinearGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("ResizeBilinearGrad", {g.grad(), g.input(0)}, ScalingOf(g)));
}

void BicubicGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const DType dtype = g.input_dtype(0);
  if (dtype == DType::kFloat || dtype == DType::kDouble) {
    g.Add(0, g.op("ResizeBicubicGrad", {g.grad(), g.input(0)}, ScalingOf(g)));
  } else if (IsFloating(dtype)) {
    const Expr wide =
        g.op("ResizeBicubicGrad", {g.grad(), Cast(g.input(0), DType::kFloat)}, ScalingOf(g));
    g.Add(0, Cast(wide, dtype));
  }
}

// What is linear in the gradients is resizing, turned round.
template <typename Name>
void AdjointGradient(GradientContext& g) {
  const Expr size = RuleDims::OfInput(g, 0).Part(1, 3);
  g.Add(0, g.op(Name::kName, {g.grad(), size}, ScalingOf(g)));
}
struct Bilinear {
  static constexpr absl::string_view kName = "ResizeBilinear";
};
struct Bicubic {
  static constexpr absl::string_view kName = "ResizeBicubic";
};

constexpr absl::string_view kImages =
    "(images: T, size: int32) -> resized_images: float {T: {int8, uint8, int16, uint16, int32, "
    "int64, half, float, double, bfloat16}; align_corners: bool = false";

}  // namespace

void RegisterResize(OpRegistry& ops) {
  const std::string bilinear =
      absl::StrCat("ResizeBilinear", kImages, "; half_pixel_centers: bool = false}");
  const std::string bicubic =
      absl::StrCat("ResizeBicubic", kImages, "; half_pixel_centers: bool = false}");
  const std::string area = absl::StrCat("ResizeArea", kImages, "}");
  ops.Add({
      .schema = bilinear,
      .doc = "Images of another size, interpolated between their four nearest pixels.",
      .shape = image::ResizedShape,
      .gradient = {BilinearGradient},
      .kernel = Compute<&Resize<image::BilinearTaps, Order::kInterpolate>>(),
  });
  ops.Add({
      .schema = "ResizeBilinearGrad(grads: float, original_image: T) -> output: T {T: {float, "
                "bfloat16, half, double}; align_corners: bool = false; "
                "half_pixel_centers: bool = false}",
      .doc = "The gradient of ResizeBilinear by its images, given that of what it makes.",
      .shape = AdjointShape,
      .gradient = {AdjointGradient<Bilinear>},
      .kernel = Compute<&ResizeAdjoint<image::BilinearTaps>>(),
  });
  ops.Add({
      .schema = bicubic,
      .doc = "Images of another size, interpolated by cubic functions of their sixteen nearest "
             "pixels.",
      .shape = image::ResizedShape,
      .gradient = {BicubicGradient},
      .kernel = Compute<&Resize<image::BicubicTaps, Order::kRowsFirst>>(),
  });
  ops.Add({
      .schema = "ResizeBicubicGrad(grads: float, original_image: T) -> output: T {T: {float, "
                "double}; align_corners: bool = false; half_pixel_centers: bool = false}",
      .doc = "The gradient of ResizeBicubic by its images, given that of what it makes.",
      .shape = AdjointShape,
      .gradient = {AdjointGradient<Bicubic>},
      .kernel = Compute<&ResizeAdjoint<image::BicubicTaps>>(),
  });
  ops.Add({
      .schema = area,
      .doc = "Images of another size, each pixel the mean of the area that it covers.",
      .shape = image::ResizedShape,
      .gradient = RefusesGradient("ResizeArea has no gradient, as in TensorFlow: resize by another "
                                  "method, or use avg_pool"),
      .kernel = Compute<&Resize<image::AreaTaps, Order::kColumnsFirst>>(),
  });
}

}  // namespace gyre
