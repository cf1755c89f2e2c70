// ResizeNearestNeighbor: each pixel is the nearest one of the image; and its adjoint.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/image/image_shape.h"
#include "ops/image/taps.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;
using image::Scaling;
using image::Taps;

constexpr int64_t kGrain = 1 << 15;  // elements

struct NearestAttrs {
  static absl::StatusOr<NearestAttrs> Make(const Node& node) {
    NearestAttrs attrs;
    attrs.scaling = {NodeAttr<bool>(node, "align_corners"),
                     NodeAttr<bool>(node, "half_pixel_centers")};
    if (attrs.scaling.align_corners && attrs.scaling.half_pixel_centers) {
      return absl::InvalidArgumentError(
          "If half_pixel_centers is True, align_corners must be False.");
    }
    return attrs;
  }
  Scaling scaling;
};

absl::Status ResizeNearest(KernelContext& ctx, const NearestAttrs& attrs) {
  const Tensor& images = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(images, "images"));
  GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 1, "size"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, size[0], size[1], dims.channels}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), shape));
  if (shape.num_elements() > 0) {
    GYRE_ASSIGN_OR_RETURN(const Taps rows,
                          image::NearestTaps(ctx, dims.height, size[0], attrs.scaling));
    GYRE_ASSIGN_OR_RETURN(const Taps columns,
                          image::NearestTaps(ctx, dims.width, size[1], attrs.scaling));
    const int64_t pixels = dims.batch * size[0] * size[1];
    const int64_t grain = std::max<int64_t>(1, kGrain / dims.channels);
    GYRE_RETURN_IF_ERROR(VisitElement(images.dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_trivially_copyable_v<T>) {
        const T* from = static_cast<const T*>(images.raw_data());
        T* to = static_cast<T*>(out.mutable_raw_data());
        return ctx.ParallelRun(pixels, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t x = i % size[1], row = i / size[1];
            const int64_t y = row % size[0], batch = row / size[0];
            const T* pixel = from + batch * dims.plane() + rows.from(y) * dims.row() +
                             columns.from(x) * dims.channels;
            std::copy_n(pixel, dims.channels, to + i * dims.channels);
          }
        });
      } else {
        return NoKernelFor(images.dtype());
      }
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// What a sum of Ts is added up in.
template <typename T>
using SumType = std::conditional_t<kIsSmallFloat<T>, float,
                                   std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;

// Inputs: the gradient of what was resized, and the size that it was resized from.
template <typename T>
struct ResizeNearestAdjoint {
  static absl::Status Run(KernelContext& ctx, const NearestAttrs& attrs) {
    const Tensor& grads = ctx.input(0);
    GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(grads, "grads"));
    GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 1, "size"));
    GYRE_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({dims.batch, size[0], size[1], dims.channels}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(grads.dtype(), shape));
    if (shape.num_elements() > 0) {
      GYRE_ASSIGN_OR_RETURN(Taps rows,
                            image::NearestTaps(ctx, size[0], dims.height, attrs.scaling));
      GYRE_ASSIGN_OR_RETURN(Taps columns,
                            image::NearestTaps(ctx, size[1], dims.width, attrs.scaling));
      GYRE_ASSIGN_OR_RETURN(rows, rows.Transposed(ctx, size[0]));
      GYRE_ASSIGN_OR_RETURN(columns, columns.Transposed(ctx, size[1]));
      const T* from = grads.values<T>().data();
      T* to = out.mutable_values<T>().data();
      const int64_t pixels = dims.batch * size[0] * size[1];
      const int64_t each = std::max<int64_t>(1, grads.num_elements() / pixels);
      const int64_t grain = std::max<int64_t>(1, kGrain / std::max(each, dims.channels));
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(pixels, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t x = i % size[1], row = i / size[1];
          const int64_t y = row % size[0], batch = row / size[0];
          const T* plane = from + batch * dims.plane();
          for (int64_t c = 0; c < dims.channels; ++c) {
            SumType<T> sum = 0;
            for (int64_t r = rows.begin(y); r < rows.begin(y + 1); ++r) {
              if ((r - rows.begin(y)) % 1024 == 1023 && !ctx.Poll().ok()) return;
              for (int64_t t = columns.begin(x); t < columns.begin(x + 1); ++t) {
                sum += static_cast<SumType<T>>(
                    plane[rows.from(r) * dims.row() + columns.from(t) * dims.channels + c]);
              }
            }
            to[i * dims.channels + c] = static_cast<T>(sum);
          }
        }
      }));
      GYRE_RETURN_IF_ERROR(ctx.Poll());  // pieces may have ended half-way
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

using AdjointTypes = Types<uint8_t, int8_t, int32_t, Half, float, double, BFloat16>;

AttrMap ScalingOf(const GradientContext& g) {
  return {{"align_corners", g.attr<bool>("align_corners", false)},
          {"half_pixel_centers", g.attr<bool>("half_pixel_centers", false)}};
}

// Of either op: the other one, and the size that the input had.
template <bool kForward>
void NearestGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Expr size = RuleDims::OfInput(g, 0).Part(1, 3);
  g.Add(0, g.op(kForward ? "ResizeNearestNeighborGrad" : "ResizeNearestNeighbor", {g.grad(), size},
                ScalingOf(g)));
}

}  // namespace

void RegisterResizeNearest(OpRegistry& ops) {
  ops.Add({
      .schema = "ResizeNearestNeighbor(images: T, size: int32) -> resized_images: T {T: {int8, "
                "uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; "
                "align_corners: bool = false; half_pixel_centers: bool = false}",
      .doc = "Images of another size, each pixel the nearest one of the image.",
      .shape = image::ResizedShape,
      .gradient = {NearestGradient<true>},
      .kernel = Compute<&ResizeNearest>(),
  });
  ops.Add({
      .schema = "ResizeNearestNeighborGrad(grads: T, size: int32) -> output: T {T: {uint8, int8, "
                "int32, half, float, double, bfloat16}; align_corners: bool = false; "
                "half_pixel_centers: bool = false}",
      .doc = "The gradient of ResizeNearestNeighbor by its images, given that of what it makes.",
      .shape = image::ResizedShape,
      .gradient = {NearestGradient<false>},
      .kernel = ForTypes<ResizeNearestAdjoint, AdjointTypes>("T"),
  });
}

}  // namespace gyre
