#include "ops/conv/convolution.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "ops/array/layout.h"
#include "ops/conv/depthwise_sum.h"
#include "ops/conv/gather_product.h"
#include "ops/conv/image_tensor.h"
#include "ops/dispatch.h"

namespace gyre {
namespace {

using Axes = std::array<TapAxis, kWindowAxes>;

// Places of the window, which meet the images.
Axes ForwardAxes(const Convolution& sizes) {
  Axes result;
  for (int i = 0; i < kWindowAxes; ++i) {
    const WindowAxis& from = sizes.axes[i];
    TapAxis& axis = result[i];
    axis.pixels = from.input;
    axis.places = axis.size = from.output;
    axis.step = from.stride;
    axis.taps.resize(from.size);
    for (int64_t t = 0; t < from.size; ++t) axis.taps[t] = t * from.dilation - from.before;
  }
  return result;
}

// Pixels of the images that meet the same taps, and the place of the window at which they do: those
// whose index has one remainder on division by the stride.
struct PixelClass {
  TapAxis axis;
  std::vector<int64_t> taps;  // of the window, in the order of axis.taps
};
std::vector<PixelClass> ClassesOf(const WindowAxis& axis) {
  std::map<int64_t, PixelClass> by_remainder;
  // Backwards, so that the places that a pixel meets rise.
  for (int64_t t = axis.size; t-- > 0;) {
    const int64_t distance = t * axis.dilation - axis.before;  // pixel - place * stride
    const int64_t remainder = ((distance % axis.stride) + axis.stride) % axis.stride;
    if (remainder >= axis.input) continue;
    PixelClass& pixels = by_remainder[remainder];
    if (pixels.taps.empty()) {
      pixels.axis.pixels = axis.output;
      pixels.axis.places = (axis.input - remainder - 1) / axis.stride + 1;
      pixels.axis.size = axis.input;
      pixels.axis.start = remainder;
      pixels.axis.stride = axis.stride;
      pixels.axis.taps.clear();
    }
    pixels.axis.taps.push_back((remainder - distance) / axis.stride);
    pixels.taps.push_back(t);
  }
  std::vector<PixelClass> result;
  for (auto& [remainder, pixels] : by_remainder) result.push_back(std::move(pixels));
  return result;
}

// The filters for some taps with channels in and out exchanged: [taps, out of a group, in].
template <typename T>
absl::Status TurnFilter(const KernelContext& ctx, const Convolution& sizes, const T* filter,
                        const std::array<const PixelClass*, kWindowAxes>& pixels, T* turned) {
  const int64_t in = sizes.in_channels / sizes.groups, out = sizes.out_channels / sizes.groups;
  const auto n1 = static_cast<int64_t>(pixels[1]->taps.size());
  const auto n2 = static_cast<int64_t>(pixels[2]->taps.size());
  const auto taps = static_cast<int64_t>(pixels[0]->taps.size()) * n1 * n2;
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / (in * sizes.groups));
  return RunPieces(ctx, taps * out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t tap = row / out, channel = row % out;
      const int64_t at =
          (pixels[0]->taps[tap / n2 / n1] * sizes.axes[1].size + pixels[1]->taps[tap / n2 % n1]) *
              sizes.axes[2].size +
          pixels[2]->taps[tap % n2];
      const T* from = filter + at * in * sizes.out_channels + channel;
      T* to = turned + row * sizes.in_channels;
      for (int64_t g = 0; g < sizes.groups; ++g) {
        for (int64_t i = 0; i < in; ++i) to[g * in + i] = from[i * sizes.out_channels + g * out];
      }
    }
  });
}

absl::Status RequireGradShape(const Tensor& grad, const Shape& expected) {
  if (grad.shape() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("out_backprop must have the shape of the result, ",
                                                 expected.ToString(), ", but has ",
                                                 grad.shape().ToString()));
}

// The shape of images, channels last.
absl::StatusOr<Shape> LastShape(const WindowAttrs& attrs, const Shape& images) {
  Dims dims{images.dim(0)};
  for (int i = 0; i < attrs.spatial; ++i) dims.push_back(images.dim(attrs.spatial_dim(i)));
  dims.push_back(images.dim(attrs.channel_dim()));
  return Shape::Make(dims);
}

bool IsDepthwise(const Convolution& sizes, DType dtype) {
  return sizes.groups == sizes.in_channels && sizes.groups > 1 &&
         (dtype == DType::kFloat || dtype == DType::kDouble);
}

using TurnedTypes = Types<float, double, int32_t>;

absl::Status SumInputGradient(const KernelContext& ctx, const Convolution& sizes,
                              const Tensor& filter, const Tensor& grad, Tensor& images) {
  if (IsDepthwise(sizes, grad.dtype()))
    return DepthwiseInputGradient(ctx, sizes, filter, grad, images);
  std::array<std::vector<PixelClass>, kWindowAxes> classes;
  size_t taken = 1;
  for (int i = 0; i < kWindowAxes; ++i) {
    classes[i] = ClassesOf(sizes.axes[i]);
    for (const PixelClass& pixels : classes[i]) taken = std::max(taken, pixels.taps.size());
  }
  GYRE_ASSIGN_OR_RETURN(Tensor turned, ctx.Allocate(filter.dtype(), filter.shape()));
  for (const PixelClass& x : classes[0]) {
    for (const PixelClass& y : classes[1]) {
      for (const PixelClass& z : classes[2]) {
        GYRE_RETURN_IF_ERROR(VisitType<TurnedTypes>(filter.dtype(), [&](auto tag) {
          using T = typename decltype(tag)::type;
          return TurnFilter<T>(ctx, sizes, static_cast<const T*>(filter.raw_data()), {&x, &y, &z},
                               static_cast<T*>(turned.mutable_raw_data()));
        }));
        GYRE_RETURN_IF_ERROR(MultiplyGathered(ctx, {.dtype = grad.dtype(),
                                                    .batch = sizes.batch,
                                                    .axes = {x.axis, y.axis, z.axis},
                                                    .groups = sizes.groups,
                                                    .source_channels = sizes.out_channels,
                                                    .target_channels = sizes.in_channels,
                                                    .source = grad.raw_data(),
                                                    .matrix = turned.raw_data(),
                                                    .target = images.mutable_raw_data()}));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Convolution> Convolution::Make(const WindowAttrs& attrs, const Shape& images,
                                              const Shape& filter, bool is_depthwise) {
  const int rank = attrs.rank();
  GYRE_RETURN_IF_ERROR(RequireImages(images, rank, "input"));
  GYRE_RETURN_IF_ERROR(RequireImages(filter, rank, "filter"));
  if (filter.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter must not be empty, but has shape ", filter.ToString()));
  }
  Convolution result;
  result.batch = images.dim(0);
  result.in_channels = images.dim(attrs.channel_dim());
  const int64_t depth = filter.dim(rank - 2);
  if (is_depthwise) {
    if (result.in_channels != depth) {
      return absl::InvalidArgumentError(absl::StrCat("input has ", result.in_channels,
                                                     " channels, but the filter of shape ",
                                                     filter.ToString(), " is for ", depth));
    }
    result.groups = depth;
    const auto channels = CheckedMul(depth, filter.dim(rank - 1));
    if (!channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("a filter of shape ", filter.ToString(), " makes too many channels"));
    }
    result.out_channels = *channels;
  } else {
    if (result.in_channels == 0 || result.in_channels % depth != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the channels of input, ", result.in_channels,
                       ", must be a multiple of those of the filter, ", depth, ": input has shape ",
                       images.ToString(), ", filter ", filter.ToString()));
    }
    result.groups = result.in_channels / depth;
    result.out_channels = filter.dim(rank - 1);
    if (result.out_channels % result.groups != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", result.out_channels, " channels that come out of a filter of shape ",
                       filter.ToString(), " do not fall into ", result.groups,
                       " groups, as those of input do, which has shape ", images.ToString()));
    }
  }
  GYRE_ASSIGN_OR_RETURN(result.axes, attrs.Axes(images, filter.dims()));
  return result;
}

absl::StatusOr<Tensor> Convolve(const KernelContext& ctx, const WindowAttrs& attrs,
                                const Convolution& sizes, const Tensor& images,
                                const Tensor& filter) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, sizes.OutputShape(attrs));
  if (shape.num_elements() == 0) return ctx.AllocateZeros(images.dtype(), shape);
  GYRE_ASSIGN_OR_RETURN(const Tensor source, ImagesIn(ctx, attrs, images));
  GYRE_ASSIGN_OR_RETURN(const Tensor matrix, ConvertFloats(ctx, filter, source.dtype()));
  GYRE_ASSIGN_OR_RETURN(const Shape last, LastShape(attrs, shape));
  GYRE_ASSIGN_OR_RETURN(Tensor target, ctx.Allocate(source.dtype(), last));
  if (source.num_elements() == 0) {
    GYRE_ASSIGN_OR_RETURN(target, ctx.AllocateZeros(source.dtype(), last));
  } else if (IsDepthwise(sizes, source.dtype())) {
    GYRE_RETURN_IF_ERROR(DepthwiseSum(ctx, sizes, source, matrix, target));
  } else {
    GYRE_RETURN_IF_ERROR(MultiplyGathered(ctx, {.dtype = source.dtype(),
                                                .batch = sizes.batch,
                                                .axes = ForwardAxes(sizes),
                                                .groups = sizes.groups,
                                                .source_channels = sizes.in_channels,
                                                .target_channels = sizes.out_channels,
                                                .source = source.raw_data(),
                                                .matrix = matrix.raw_data(),
                                                .target = target.mutable_raw_data()}));
  }
  return ImagesOut(ctx, attrs, std::move(target), images.dtype());
}

absl::StatusOr<Tensor> ConvolutionInputGradient(const KernelContext& ctx, const WindowAttrs& attrs,
                                                const Convolution& sizes, const Shape& images,
                                                const Tensor& filter, const Tensor& grad) {
  GYRE_ASSIGN_OR_RETURN(const Shape expected, sizes.OutputShape(attrs));
  GYRE_RETURN_IF_ERROR(RequireGradShape(grad, expected));
  if (images.num_elements() == 0 || grad.num_elements() == 0)
    return ctx.AllocateZeros(grad.dtype(), images);
  GYRE_ASSIGN_OR_RETURN(const Tensor source, ImagesIn(ctx, attrs, grad));
  GYRE_ASSIGN_OR_RETURN(const Tensor matrix, ConvertFloats(ctx, filter, source.dtype()));
  GYRE_ASSIGN_OR_RETURN(const Shape last, LastShape(attrs, images));
  // Pixels that no window meets stay zero.
  GYRE_ASSIGN_OR_RETURN(Tensor target, ctx.AllocateZeros(source.dtype(), last));
  GYRE_RETURN_IF_ERROR(SumInputGradient(ctx, sizes, matrix, source, target));
  return ImagesOut(ctx, attrs, std::move(target), grad.dtype());
}

absl::StatusOr<Tensor> ConvolutionFilterGradient(const KernelContext& ctx, const WindowAttrs& attrs,
                                                 const Convolution& sizes, const Tensor& images,
                                                 const Shape& filter, const Tensor& grad) {
  GYRE_ASSIGN_OR_RETURN(const Shape expected, sizes.OutputShape(attrs));
  GYRE_RETURN_IF_ERROR(RequireGradShape(grad, expected));
  if (images.num_elements() == 0 || grad.num_elements() == 0)
    return ctx.AllocateZeros(grad.dtype(), filter);
  GYRE_ASSIGN_OR_RETURN(const Tensor source, ImagesIn(ctx, attrs, images));
  GYRE_ASSIGN_OR_RETURN(const Tensor target, ImagesIn(ctx, attrs, grad));
  GYRE_ASSIGN_OR_RETURN(Tensor matrix, ctx.Allocate(source.dtype(), filter));
  if (IsDepthwise(sizes, source.dtype())) {
    GYRE_RETURN_IF_ERROR(DepthwiseFilterGradient(ctx, sizes, source, target, matrix));
  } else {
    GYRE_RETURN_IF_ERROR(MultiplyGatheredTransposed(ctx, {.dtype = source.dtype(),
                                                          .batch = sizes.batch,
                                                          .axes = ForwardAxes(sizes),
                                                          .groups = sizes.groups,
                                                          .source_channels = sizes.in_channels,
                                                          .target_channels = sizes.out_channels,
                                                          .source = source.raw_data(),
                                                          .target = target.raw_data(),
                                                          .matrix = matrix.mutable_raw_data()}));
  }
  return ConvertFloats(ctx, std::move(matrix), grad.dtype());
}

}  // namespace gyre
